import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';

/** The command of each word that ends an exception, and how it is told. */
export const ENDINGS = {
  approve: { command: 'ApproveException', done: 'approved' },
  drop: { command: 'DropException', done: 'dropped' },
} as const;
export type Ending = keyof typeof ENDINGS;

/** The program's command, and what it works with. */
export interface CommandCall {
  readonly command: Command;
  readonly context: CommandContext;
}
