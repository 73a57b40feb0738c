import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const isThere = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0;

let folder: string;
let program: Command;
beforeAll(async () => {
  const of = await programInProcess();
  folder = temporaryFolder();
  for (const shell of ['bash', 'zsh', 'fish']) writeFileSync(join(folder, shell), await of.run('completion', shell));
  program = await gatewayProgram(of.context);
  await of.close();
  mkdirSync(join(folder, 'files'));
  writeFileSync(join(folder, 'files', 'catalog.yaml'), '');
});

const namesOf = (command: Command): string[] => command.commands.map((one) => one.name()).sort();

/** Each command with the words that lead to it. */
const allOf = (command: Command, words: readonly string[] = []): (readonly [readonly string[], Command])[] => [
  [words, command],
  ...command.commands.flatMap((one) => allOf(one, [...words, one.name()])),
];

const wordsOf = (text: string): string[] =>
  text
    .split(/\s+/)
    .filter((word) => word !== '')
    .sort();

/** What is offered behind each of the lines, of which the last word is the one that is being typed. */
type Offers = (...lines: (readonly string[])[]) => string[][];

const WALKS = `ask() {
  local at option offered files last=$1; shift
  _gateway_walk "$@"
  _gateway_next "$last"
  if [[ -n $files ]]; then echo FILES; else echo "$offered"; fi
}`;
const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');

/** Either shell's own functions, asked in one process; what bash itself makes of them is asked below. */
const asked =
  (shell: string): Offers =>
  (...lines) => {
    const script = `source ${join(folder, shell)}\n${WALKS}\n${lines.map((line) => `ask ${quoted([line.at(-1) ?? '', ...line.slice(0, -1)])}`).join('\n')}`;
    return execFileSync(shell, shell === 'zsh' ? ['-f', '-c', script] : ['--norc', '-c', script], { encoding: 'utf8' })
      .split('\n')
      .slice(0, -1)
      .map(wordsOf);
  };

/** Its own completion, line by line. */
const inFish: Offers = (...lines) => {
  const script = lines.map((line) => `complete -C '${['gateway', ...line].join(' ')}'; echo END`).join('\n');
  const text = execFileSync('fish', ['--no-config', '-c', `source ${join(folder, 'fish')}\n${script}`], {
    encoding: 'utf8',
    cwd: join(folder, 'files'),
  });
  return text
    .split(/^END$/m)
    .slice(0, -1)
    .map((part) =>
      part
        .split('\n')
        .map((line) => line.split('\t')[0] ?? '')
        .filter((word) => word !== '')
        .sort(),
    );
};

const SHELLS = [
  ['bash', asked('bash')],
  ['zsh', asked('zsh')],
  ['fish', inFish],
] as const;

describe.each(SHELLS)('in %s', (shell, offers) => {
  it.runIf(isThere(shell))('every command is offered behind those before it', () => {
    const all = allOf(program).filter(([, command]) => command.commands.length > 0);
    const offered = offers(...all.map(([words]) => [...words, '']));
    expect(offered).toEqual(all.map(([, command]) => namesOf(command)));
    expect(all.length).toBeGreaterThan(8);
  });

  it.runIf(isThere(shell))('options are those of the command and of all, and none of another', () => {
    const [open = [], serve = [], root = []] = offers(['account', 'open', '--'], ['serve', '--'], ['--']);
    expect(open).toEqual(expect.arrayContaining(['--email', '--json', '--config', '--data', '--trust-clock']));
    expect(open).not.toContain('--port');
    expect(serve).toEqual(expect.arrayContaining(['--host', '--port', '--json']));
    // A program that stays up has no such option.
    expect(serve).not.toContain('--trust-clock');
    expect(root).toContain('--config');
    expect(root).not.toContain('--email');
  });

  it.runIf(isThere(shell))(
    'values are those that may be chosen, or files, and the value of an option is no command',
    () => {
      const found = offers(
        ['completion', ''],
        ['ledger', 'export', '--format', ''],
        ['catalog', 'publish', 'cat'],
        ['--config', 'account', ''],
        ['--data', 'x', 'account', 'usage', '--month', ''],
      );
      expect(found[0]).toEqual(['bash', 'fish', 'zsh']);
      expect(found[1]).toEqual(expect.arrayContaining(['csv', 'hledger', 'parquet']));
      expect(found[2]).toEqual([shell === 'fish' ? 'catalog.yaml' : 'FILES']);
      expect(found[3]).toContain('ledger');
      expect(found[3]).not.toContain('show');
      expect(found[4]).toEqual([]);
    },
  );
});

it('bash completes by it: the word that is begun, also behind an equals sign, which it takes for a word', () => {
  const lines = [
    ['gateway', 'acc'],
    ['gateway', 'ledger', 'export', '--format', '=', 'h'],
    ['gateway', 'completion', ''],
  ];
  const script = lines
    .map((words) => `COMP_WORDS=(${quoted(words)}) COMP_CWORD=${words.length - 1}; _gateway; echo "\${COMPREPLY[*]}"`)
    .join('\n');
  const text = execFileSync(
    'bash',
    ['--norc', '-c', `source ${join(folder, 'bash')}\ncomplete -p gateway\n${script}`],
    { encoding: 'utf8' },
  );
  expect(text.trimEnd().split('\n')).toEqual(['complete -F _gateway gateway', 'account', 'hledger', 'bash zsh fish']);
});
