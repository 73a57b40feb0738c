import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ERROR_TABLE } from '../../contracts/errors.ts';

it("the README's error table is the one in the code", () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const rows = [...readme.matchAll(/^\| `(\w+)` \| (\d+) \| `(\w+)` \| (yes|no) \| (.*) \|$/gm)].map((row) =>
    row.slice(1),
  );
  const table = Object.entries(ERROR_TABLE).map(([code, { status, type, retryAfterS, when }]) => [
    code,
    String(status),
    type,
    retryAfterS === null ? 'no' : 'yes',
    when,
  ]);
  expect(rows).toEqual(table);
});
