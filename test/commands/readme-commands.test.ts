import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { READMES, ROOT } from '../source-files.ts';

/** A command of the program as a README has it: in a line of its own, or in the middle of a sentence. */
const COMMANDS = /(?:npm run (?:-s )?gateway --|`gateway|compose run --rm gateway)\s([a-z]+(?:\s[a-z-]+)?)/g;
/** What starts a program by the name `gateway` from npm's registry, where this one is not installed. */
const FROM_REGISTRY = /(?:npx|npm exec|npm x|pnpm dlx|bunx) (?:-\S+ )*gateway\b/;

it('no page, message or comment tells anybody to run a package of the name `gateway` from npm’s registry', () => {
  const files = execFileSync('git', ['ls-files', '*.md', '*.ts', '*.yaml', '*.json', '.ci'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const telling = files
    .trim()
    .split('\n')
    .filter((file) => FROM_REGISTRY.test(readFileSync(join(ROOT, file), 'utf8')));
  expect(telling).toEqual([]);
  const { private: isPrivate, name, scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect({ isPrivate, isOther: name !== 'gateway', run: scripts.gateway }).toEqual({
    isPrivate: true,
    isOther: true,
    run: 'exec node proxy/main.mjs',
  });
});

it('each command of a README or of an alert is one that the program has', async () => {
  const program = endedLater(await programInProcess());
  const alerts = '.compose/alerts.yaml';
  const told = [...READMES, [alerts, readFileSync(join(ROOT, alerts), 'utf8')] as const];
  const commands = told.flatMap(([file, text]) =>
    [...text.matchAll(COMMANDS)].map(([, words = '']) => ({ file, words: words.split(/\s/) })),
  );
  expect(commands.length).toBeGreaterThan(25);
  const gateway = await gatewayProgram(program.context);
  expect(commands.filter(({ words }) => !isCommand(gateway, words))).toEqual([]);
});

it('each default that help shows is in the form that its option takes', async () => {
  const program = endedLater(await programInProcess());
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
  const options = all(await gatewayProgram(program.context)).flatMap((command) => command.options);
  const parsed = options.filter(
    ({ parseArg, defaultValue: value }) => parseArg && value !== undefined && !Array.isArray(value),
  );
  expect(parsed.map(({ long }) => long)).toContain('--overlap');
  for (const { long, parseArg, defaultValue, defaultValueDescription: shown = String(defaultValue) } of parsed)
    expect(parseArg?.(shown, undefined), long).toEqual(defaultValue);
});

/** A line of "Run it" whose words are all that its command needs. */
const LISTED = /^ {4}npm run gateway -- ((?:account|credits|key|member|limit|catalog|plan) [^#>\n]*)/gm;

it('what the README lists of accounts works on a fresh start, line by line', async () => {
  const program = endedLater(await programInProcess());
  await program.run('account', 'open', '--email', 'demo@example.com', '--id', 'acct_demo');
  await program.run('catalog', 'publish', join(ROOT, 'contracts/example-catalog.yaml'));
  const [list = ''] = readFileSync(join(ROOT, 'README.md'), 'utf8').split('\n## Point a client at it');
  const lines = [...list.matchAll(LISTED)].map(([, words = '']) => words.trim());
  const whole = lines.filter((line) => !/…|[A-Z]{4}/.test(line) && !line.startsWith('account usage'));
  expect(whole.length).toBeGreaterThan(9);
  for (const line of whole) expect(await program.run(...line.split(/ +/)), line).not.toBe('');
});

function isCommand(above: Command, [word, ...rest]: readonly string[]): boolean {
  if (word === undefined || above.commands.length === 0) return true;
  const named = above.commands.find((command) => command.name() === word);
  return named !== undefined && isCommand(named, rest);
}
