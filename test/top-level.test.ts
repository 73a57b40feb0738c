import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
/** Made by `npm ci`. */
const MADE = new Set(['node_modules']);

test('what is seen at the top is what the project is made of; the rest has a dot', () => {
  const seen = readdirSync(ROOT).filter((name) => !name.startsWith('.') && !MADE.has(name));
  expect(seen.sort()).toEqual(
    [
      ...['README.md', 'compose.yaml', 'package.json', 'package-lock.json', 'tsconfig.json'],
      ...['contracts', 'ledger', 'projections', 'proxy', 'test'],
    ].sort(),
  );
});
