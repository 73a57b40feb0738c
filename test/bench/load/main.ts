import type { LoadCommand, LoadReply } from './load-protocol.ts';
import { LoadRun } from './load-run.ts';

/** The load generator, a process of its own: told what to do by its parent, and gone when its parent is. */
let run: LoadRun | null = null;
/** A connection that fails ends the window: figures with failures in them would mean nothing. */
let failure: string | null = null;

process.on('message', (command: LoadCommand) => reply(obey(command)));
process.once('disconnect', () => process.exit(0));

function obey(command: LoadCommand): LoadReply {
  if (command.type === 'start') {
    run?.stop();
    failure = null;
    run = new LoadRun(command.load, (reason) => {
      failure ??= reason;
    });
    return { type: 'done' };
  }
  if (run === null) return { type: 'failed', reason: 'no load is under way' };
  switch (command.type) {
    case 'mark':
      run.mark();
      return { type: 'done' };
    case 'read':
      return failure === null ? { type: 'window', window: run.read() } : { type: 'failed', reason: failure };
    case 'stop':
      run.stop();
      run = null;
      return { type: 'done' };
    default:
      return command satisfies never;
  }
}

function reply(message: LoadReply): void {
  process.send?.(message);
}
