import type { Command } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { isTest, SOURCES } from '../source-files.ts';

const { context } = endedLater(await programInProcess(), afterAll);

/** Whatever a template puts there: an id, a name, an amount. */
const FILLED = '1';
const WORD = /\s*("[^"]*"|[^\s"'`;,()|<>&\\]+)/y;

/** A command line as the program prints it somewhere. */
interface Printed {
  readonly place: string;
  readonly words: readonly string[];
  /** A word of a sentence follows it, or it stands in backquotes. */
  readonly isMentioned: boolean;
}

/** The text behind `gateway` in a line of a source, as far as it is to be typed. */
function printedIn(line: string, place: string, gateway: Command): Printed[] {
  const filled = line.replaceAll(/\$\{[^{}]*\}/g, FILLED);
  return [...filled.matchAll(/gateway (?=[a-z])/g)].flatMap(({ index, 0: { length } }) => {
    const isExample = filled.slice(0, index).endsWith('  ');
    const words: string[] = [];
    let command = gateway;
    let isMentioned = index > 0 && '`>'.includes(filled[index - 1] ?? ' ');
    WORD.lastIndex = index + length;
    for (let found = WORD.exec(filled); found !== null; found = WORD.exec(filled)) {
      const word = found[1]?.replace(/[.:]$/, '') ?? '';
      const inner = command.commands.find((one) => one.name() === word);
      const before = command.options.find(({ long }) => long === words.at(-1));
      const isValue = before !== undefined && (before.required || before.optional);
      if (inner === undefined && !isExample && !isValue && !/^["-]|[A-Z\d_./@…]/.test(word)) {
        isMentioned = true;
        break;
      }
      command = inner ?? command;
      words.push(/^[A-Z][A-Z-]+$/.test(word) ? FILLED : word.replace(/^"(.*)"$/, '$1'));
      isMentioned ||= found[1]?.endsWith('.') === true;
    }
    const isOurs = gateway.commands.some((one) => one.name() === words[0]);
    // Which of a group's it is stands in another place.
    return isOurs && words[1] !== FILLED ? [{ place, words, isMentioned }] : [];
  });
}

async function printed(): Promise<Printed[]> {
  const gateway = await gatewayProgram(context);
  return (
    [...SOURCES]
      // It names whoever has carried a relay over.
      .filter(([file]) => !isTest(file) && file !== 'ledger/copy/carry-relays.ts')
      .flatMap(([file, text]) =>
        text
          .split('\n')
          .flatMap((line, at) =>
            /^\s*(\/?\*|\/\/)/.test(line) ? [] : printedIn(line, `${file}:${at + 1}: ${line.trim()}`, gateway),
          ),
      )
  );
}

const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];

/** What the program says of it before anything is done; null where nothing is amiss. */
async function amissWith({ words, isMentioned }: Printed): Promise<string | null> {
  const gateway = await gatewayProgram({ ...context, warn: () => undefined }, words);
  let command = gateway;
  for (const word of words) command = command.commands.find((one) => one.name() === word) ?? command;
  if (command === gateway) return 'no such command';
  const isBare = words.every((word) => word.startsWith('--') || all(gateway).some((one) => one.name() === word));
  if (isBare && isMentioned) return null;
  for (const one of all(gateway)) if (one.commands.length === 0 || one === command) one.action(() => undefined);
  for (const one of all(gateway)) one.configureOutput({ writeErr: () => undefined });
  try {
    await gateway.parseAsync(words, { from: 'user' });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe('what the program prints', () => {
  it('of command lines has all that they need, and nothing that they do not know', async () => {
    const lines = await printed();
    expect(lines.length).toBeGreaterThan(150);
    const amiss: string[] = [];
    for (const line of lines) {
      const why = await amissWith(line);
      if (why !== null) amiss.push(`${line.place}\n  gateway ${line.words.join(' ')}: ${why}`);
    }
    expect(amiss).toEqual([]);
  });

  it('as help keeps to the columns of a terminal, but for what is to be typed', async () => {
    let help = '';
    const write = (text: string): void => {
      help += text;
    };
    for (const command of all(await gatewayProgram({ ...context, write }))) command.outputHelp();
    const isTyped = (line: string): boolean => /^ {2}(gateway|openssl) |^ *gateway\(\) /.test(line);
    expect(help.length).toBeGreaterThan(10_000);
    expect(help.split('\n').filter((line) => line.length > 80 && !isTyped(line))).toEqual([]);
  });
});
