import { Argument, type Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { assertNotJson } from '../show.ts';
import { bashCompletion, zshCompletion } from './bash-and-zsh.ts';
import { completedCommands } from './command-tree.ts';
import { fishCompletion } from './fish.ts';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** `gateway completion`: a script by which a shell completes commands, options and their values, made from the commands themselves. */
export function addCompletionCommand(program: Command, context: CommandContext): void {
  program
    .command('completion')
    .description(
      'a script for a shell that completes commands, options and their values, where `gateway` is one of its commands',
    )
    .addArgument(new Argument('<shell>', 'whose script').choices(Object.keys(SHELLS)))
    .addHelpText(
      'after',
      '\nExamples:\n  gateway() { node /path/to/proxy/main.mjs "$@"; }    # and, in the same file of the shell:\n' +
        '  source <(gateway completion bash)\n  gateway completion fish | source',
    )
    .action((shell: keyof typeof SHELLS, _options: object, command: Command) => {
      assertNotJson(command, `a script for ${shell}`);
      context.write(SHELLS[shell](completedCommands(program)));
    });
}
