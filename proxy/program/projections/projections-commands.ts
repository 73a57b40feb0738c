import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { addDiffCommand } from './diff-command.ts';
import { addParkCommands } from './park-commands.ts';
import { addRebuildCommands } from './rebuild-command.ts';
import { addStatusCommand } from './status-command.ts';

/** `gateway projections`: the views of a data folder, for operators. */
export function addProjectionsCommands(projections: Command, context: CommandContext): void {
  addStatusCommand(projections, context);
  addDiffCommand(projections, context);
  addRebuildCommands(projections, context);
  addParkCommands(projections, context);
}
