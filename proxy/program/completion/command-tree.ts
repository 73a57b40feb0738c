import type { Argument, Command, Option } from 'commander';

/** What may be typed behind a command. */
export interface CompletedCommand {
  /** The words before it, each with a blank before: '' is the program, ' account open' one of its commands. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
  readonly argument: CompletedValue;
}

export interface CompletedOption {
  readonly long: string;
  readonly description: string;
  /** Null: it takes none. */
  readonly value: CompletedValue | null;
}

export interface CompletedValue {
  readonly choices: readonly string[];
  readonly isFile: boolean;
}

/** A program's commands as its own help shows them, each with the options that hold for it; the program first. */
export function completedCommands(command: Command, path = ''): CompletedCommand[] {
  const help = command.createHelp();
  const inner = help.visibleCommands(command).filter((one) => one.name() !== 'help');
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  const values = command.registeredArguments.map(typedValue);
  return [
    {
      path,
      commands: inner.map((one) => ({ name: one.name(), description: one.description() })),
      options: options.flatMap(completedOption),
      argument: { choices: values.flatMap(({ choices }) => choices), isFile: values.some(({ isFile }) => isFile) },
    },
    ...inner.flatMap((one) => completedCommands(one, `${path} ${one.name()}`)),
  ];
}

function completedOption(option: Option): CompletedOption[] {
  const { long, description, required, optional } = option;
  if (long === undefined || long === null) return [];
  return [{ long, description, value: required || optional ? typedValue(option) : null }];
}

/** By what stands in its place in the help: `<file>`, `<folder>`. */
const FILE = /\b(?:file|folder)\b/;

const typedValue = (of: Option | Argument): CompletedValue => ({
  choices: of.argChoices ?? [],
  isFile: FILE.test('flags' in of ? of.flags.replace(/^--\S+/, '') : of.name()),
});
