import { linkSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FolderNote, NOTE_FILE, writeNote } from '../../ledger/identity/folder-note.ts';
import { newLedgerId } from '../../ledger/identity/identify-ledger.ts';
import { replaceFile } from '../../ledger/replace-file.ts';
import { keepClaims } from '../../proxy/claim/claim-file.ts';
import { proxyIdOf, takeNewProxyId } from '../../proxy/proxy-id.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const noteOf = (generation: number): FolderNote => ({
  ledgerId: newLedgerId(0),
  generation,
  newest: null,
  leases: {},
  earlier: [],
});

const claimOf = (folder: string, epoch: number) => ({
  ...{ proxy: proxyIdOf(folder, 0), epoch, instance: 'one', ownsFrom: 0, folder: 'here' },
  ...{ takenOverAtMs: null, hasEnded: false },
});

/** The small files of a data folder, each with a way to write it that leaves another text every time. */
const FILES: readonly (readonly [string, (folder: string, time: number) => void])[] = [
  ['proxy-id', (folder, time) => takeNewProxyId(folder, time)],
  ['proxy-claims.json', (folder, time) => keepClaims(folder, [claimOf(folder, time)])],
  [NOTE_FILE, (folder, time) => writeNote(folder, noteOf(time))],
];

describe.each(FILES)('the file %s', (name, write) => {
  it('is written beside and put in its place whole: what stood there is never half of one and half of the other', () => {
    const folder = temporaryFolder();
    const file = join(folder, name);
    write(folder, 1);
    const before = readFileSync(file, 'utf8');
    linkSync(file, `${file}.as-it-was`);
    write(folder, 2);
    expect(readFileSync(`${file}.as-it-was`, 'utf8')).toBe(before);
    expect(readFileSync(file, 'utf8')).not.toBe(before);
  });

  it('is as it was when the writing fails, and the error is that of the writing', () => {
    const folder = temporaryFolder();
    const file = join(folder, name);
    write(folder, 1);
    const before = readFileSync(file, 'utf8');
    // A folder in the way can be neither written nor removed as a file.
    for (const suffix of ['.new', '.next']) mkdirSync(file + suffix);
    expect(() => write(folder, 2)).toThrow(/^EISDIR: illegal operation on a directory, open /);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });
});

it('a file that is replaced takes no harm of what a process that died has left beside it', () => {
  const file = join(temporaryFolder(), 'small');
  writeFileSync(`${file}.new`, 'half of a text that was longer than the next');
  replaceFile(file, 'whole\n');
  expect(readFileSync(file, 'utf8')).toBe('whole\n');
});

it('the name of a proxy is given once, and is another one where it was taken away', () => {
  const folder = temporaryFolder();
  const name = proxyIdOf(folder, 0);
  expect(proxyIdOf(folder, 1)).toBe(name);
  const next = takeNewProxyId(folder, 2);
  expect(next).not.toBe(name);
  expect(proxyIdOf(folder, 3)).toBe(next);
});
