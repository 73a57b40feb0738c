import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { addDiffCommand } from './diff-command.ts';
import { addParkCommands } from './park-commands.ts';
import { addRebuildCommand } from './rebuild-command.ts';
import { addRollbackCommand } from './rollback-command.ts';
import { addStatusCommand } from './status-command.ts';

/** `gateway projections`: the views of a data folder, for operators. */
export function addProjectionsCommands(projections: Command, context: CommandContext): void {
  addStatusCommand(projections, context);
  addDiffCommand(projections, context);
  addRebuildCommand(projections, context);
  addRollbackCommand(projections, context);
  addParkCommands(projections, context);
}
