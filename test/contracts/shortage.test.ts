import { expect, it } from 'vitest';
import { lackedDescriptor, shortageOf, ToldShortageError } from '../../contracts/shortage.ts';

const coded = (code: string, message = code): Error => Object.assign(new Error(message), { code });

it.each([
  ['ENOSPC', 'disk'],
  ['EDQUOT', 'disk'],
  ['EFBIG', 'disk'],
  ['EMFILE', 'descriptors'],
  ['ENFILE', 'descriptors'],
  ['EIO', null],
])('of an error by the code %s there is too little of: %s', (code, shortage) => {
  expect(shortageOf(coded(code))).toBe(shortage);
});

it.each([
  ['its module', coded('EMFILE', "EMFILE: too many open files, open '/views.ts'")],
  ['what to start by', coded('ERR_WORKER_INIT_FAILED', 'Worker initialization failure: EMFILE')],
  [
    'the package of its module',
    coded('ERR_INVALID_PACKAGE_CONFIG', 'Cannot read package config /p: too many open files.'),
  ],
  ['what it was told', new ToldShortageError('it has none', 'descriptors')],
])('a thread that has ended for want of a descriptor for %s is known by that', (_what, error) => {
  expect(lackedDescriptor(error)).toBe(true);
});

it.each([
  coded('ERR_WORKER_OUT_OF_MEMORY', 'Worker terminated due to reaching memory limit'),
  coded('ERR_WORKER_INIT_FAILED', 'Worker initialization failure: ENOMEM'),
  new ToldShortageError('it is full', 'disk'),
])('one that has ended for another reason is not: %s', (error) => {
  expect(lackedDescriptor(error)).toBe(false);
});
