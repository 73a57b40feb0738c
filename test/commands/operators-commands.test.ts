import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { READMES } from '../source-files.ts';
import { readKept } from '../written-before/kept-state.ts';

/** What the README has an operator do, in its order: later lines have what earlier ones have made. */
const LINES = [...(READMES.get('README.md') ?? '').matchAll(/^```sh operators\n([\s\S]*?)^```$/gm)].flatMap(
  ([, block = '']) => block.trimEnd().split('\n'),
);
/** Names of folders in it, which are made in one of the test's own. */
const OWN = /^(backups|fresh|second)(\/|$)/;

it('each command that the README has for operators does what it says', async () => {
  const data = join(readKept('76ed563', 'sqlite', 'whole').folder, 'data');
  const folder = temporaryFolder();
  expect(LINES.length).toBeGreaterThan(4);
  for (const line of LINES) {
    const [command = '', query] = line.replace(/\s+#.*$/, '').split(' | ');
    const words = command.split(' ').map((word) => (OWN.test(word) ? join(folder, word) : word));
    if (words[0] === 'mkdir') {
      mkdirSync(words.at(-1) ?? '');
      continue;
    }
    const given = words.includes('--data') ? [] : ['--data', data];
    const said = await runHere(...given, ...words.slice(1));
    expect(said, line).toMatchObject({ exitCode: 0, stderr: '' });
    for (const [, name = ''] of query?.matchAll(/(\w+)(?=[,}])/g) ?? [])
      expect(JSON.parse(said.stdout)).toHaveProperty(name);
  }
});
