import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { foldersOf, isWithin } from '../../ledger/is-within.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const above = (folder: string): string[] =>
  folder === dirname(folder) ? [folder] : [folder, ...above(dirname(folder))];

it('a path that is not there yet is in the folders in which it will be made, links followed', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'there', 'below'), { recursive: true });
  symlinkSync(join('there', 'below', 'to-come'), join(folder, 'link'));
  symlinkSync('circle', join(folder, 'circle'));
  const all = above(folder);
  const below = [join(folder, 'there', 'below'), join(folder, 'there'), ...all];
  expect(foldersOf(join(folder, 'a', 'b', 'c'))).toEqual([join(folder, 'a', 'b'), join(folder, 'a'), ...all]);
  expect(foldersOf(join(folder, 'link'))).toEqual(below);
  expect(foldersOf(join(folder, 'link', 'x'))).toEqual([join(folder, 'there', 'below', 'to-come'), ...below]);
  expect(foldersOf(`${folder}/link/../x`)).toEqual(below);
  expect(foldersOf(join(folder, 'circle', 'x'))).toEqual([join(folder, 'circle'), ...all]);
  expect(foldersOf('/')).toEqual(['/']);
  expect([isWithin(join(folder, 'link', 'x'), join(folder, 'there')), isWithin(folder, join(folder, 'there'))]).toEqual(
    [true, false],
  );
});

it('each level of a path is looked at once, however many there are', () => {
  const levels = 4_000;
  const deep = join(temporaryFolder(), 'a/'.repeat(levels), 'x');
  expect(foldersOf(deep).length).toBeGreaterThan(levels);
});
