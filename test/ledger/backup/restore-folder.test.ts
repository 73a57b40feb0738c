import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { finishRestore } from '../../../ledger/backup/restore-folder.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

it('what was restored is moved to its place with the ledger last, so that where it ends in between none begins without its notes', () => {
  const data = temporaryFolder();
  const whole = join(data, 'restore.whole');
  mkdirSync(join(whole, 'journal'), { recursive: true });
  const names = ['journal', 'ledger-id', 'ledger.db', 'parked.json', 'proxy-id', 'views.db'];
  for (const name of [...names.slice(1), 'manifest.json']) writeFileSync(join(whole, name), name);
  // Where each of the two is to be there is no room for it yet.
  for (const [name, left] of [
    ['ledger-id', ['ledger-id', 'ledger.db', 'manifest.json']],
    ['ledger.db', ['ledger.db', 'manifest.json']],
  ] as const) {
    mkdirSync(join(data, name));
    expect(() => finishRestore(data)).toThrow(name);
    expect(readdirSync(whole).sort()).toEqual(left);
    rmSync(join(data, name), { recursive: true });
  }
  finishRestore(data);
  expect(readdirSync(data).sort()).toEqual(names);
});
