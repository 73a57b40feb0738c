import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { wantOfRights } from '../../ledger/want-of-rights.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

test('a file where a folder should be is no want of rights', () => {
  const file = join(temporaryFolder(), 'journal-aside');
  writeFileSync(file, '', { mode: 0o600 });
  expect(wantOfRights(join(file, 'lock.db'))).toBeNull();
});
