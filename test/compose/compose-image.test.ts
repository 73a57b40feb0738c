import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { composeImage } from './compose-image.ts';

const ROOT = join(import.meta.dirname, '../..');

it('is the one that the file names, also where services share what they are made of', () => {
  const file = join(temporaryFolder(), 'compose.yaml');
  const lines = [
    'x-store: &store',
    '  image: store/store:7',
    'services:',
    '  one: { <<: *store }',
    '  two: { build: . }',
  ];
  writeFileSync(file, lines.join('\n'));
  expect(composeImage('one', file)).toBe('store/store:7');
  expect(() => composeImage('two', file)).toThrow('names no image of two');
  expect(() => composeImage('three', file)).toThrow('names no image of three');
});

it('is of an event store and of a Kafka with a version', () => {
  expect(composeImage('eventstoredb')).toMatch(/^kurrentplatform\/[a-z]+:\d+\.\d+\.\d+$/);
  expect(composeImage('kafka')).toMatch(/^apache\/kafka:\d+\.\d+\.\d+$/);
});

it('is named by compose.yaml alone: no test has a version of its own', () => {
  const files = globSync('test/**/*.ts', { cwd: ROOT, exclude: ['**/node_modules/**'] });
  const named = files.filter((file) =>
    /(kurrentplatform\/kurrentdb|apache\/kafka|eventstore\/eventstore):[\d$]/.test(
      readFileSync(join(ROOT, file), 'utf8'),
    ),
  );
  expect(named).toEqual(['test/compose/compose.test.ts']);
});
