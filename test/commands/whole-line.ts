import type { Command } from 'commander';

const CATALOG = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;

/** What a command needs beside what it cannot go without. */
const FURTHER: Readonly<Record<string, readonly string[]>> = {
  'balance adjust': ['--up', '1'],
  'exception approve': ['req_x', '--account', 'acct_ada'],
  'exception drop': ['req_x', '--account', 'acct_ada'],
  'ledger forms': ['--adopt'],
  'ledger keys': ['rotate'],
  'limit set': ['--usd', '1'],
};

const GIVEN: Readonly<Record<string, string>> = {
  ...{ '--email': 'x@example.com', '--to': '/nowhere/ledger.db', file: CATALOG },
  ...{ email: 'x@example.com', account: 'acct_ada' },
};

/** A command by its name (`key issue`), of the program's. @throws Error where there is none */
export function commandNamed(name: string, { commands }: Pick<Command, 'commands'>): Command {
  const [group, word] = name.split(' ');
  const found = commands.find((one) => one.name() === group);
  const command = word === undefined ? found : found?.commands.find((one) => one.name() === word);
  if (command === undefined) throw new Error(`there is no command ${name}`);
  return command;
}

/** With all that it cannot go without, but for the options that are left out. */
export const wholeLine = (name: string, command: Command, without: readonly string[] = []): string[] => [
  ...name.split(' '),
  ...(FURTHER[name] ?? []),
  ...command.registeredArguments
    .filter(({ required }) => required)
    .map((one) => one.argChoices?.[0] ?? GIVEN[one.name()] ?? 'x'),
  ...command.options
    .filter(({ mandatory, long }) => mandatory && !without.includes(String(long)))
    .flatMap(({ long, argChoices }) => [String(long), argChoices?.[0] ?? GIVEN[String(long)] ?? '1']),
];
