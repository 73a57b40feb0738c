import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { EventLog } from '../../contracts/event-log.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { compareCommandClock } from '../../proxy/clock/command-clock.ts';
import type { CommandContext, ProvenLedger } from '../../proxy/program/command-context.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { temporaryFolder } from '../gateway/start-gateway.ts';

/** The program's commands in this process, on a ledger of their own: what they print, and what they throw. */
export interface ProgramInProcess {
  readonly log: EventLog;
  readonly context: CommandContext;
  /** Its configuration. */
  readonly file: string;
  /** The machine's; Date.now at first. */
  clock: () => number;
  /** How the ledger compares with what is known of it; whole at first. */
  ledger: ProvenLedger;
  /** Carries out one command and returns what it prints. @throws what the command throws */
  run(...args: readonly string[]): Promise<string>;
  /** The same with `--json`. */
  json(...args: readonly string[]): Promise<Record<string, unknown>>;
  /** Everything that was printed beside answers. */
  readonly warned: string;
  close(): Promise<void>;
}

/** @param given a log that somebody else opened; otherwise one of its own */
export async function programInProcess(given?: EventLog): Promise<ProgramInProcess> {
  const data = temporaryFolder();
  const log = given ?? (await openSqliteEventLog({ path: join(data, 'ledger.db') }));
  const file = join(data, 'gateway.json');
  // Of the log's kind alone: what is opened is the log that there is.
  const eventLog =
    given === undefined ? { kind: 'sqlite' } : { kind: 'eventstoredb', connectionString: 'esdb://127.0.0.1:1' };
  writeFileSync(
    file,
    JSON.stringify({ data, eventLog, kafka: { brokers: ['127.0.0.1:1'], topic: 'ledger', partitions: 1 } }),
  );
  let answered = '';
  let warned = '';
  const program: ProgramInProcess = {
    log,
    file,
    context: {
      openEventLog: async () => heldOpen(log),
      proveLedger: async () => program.ledger,
      compareClock: (log, { clock: bounds }) =>
        compareCommandClock(log, { wall: () => program.clock(), monotonic: () => performance.now(), bounds }),
      environment: {},
      clock: () => program.clock(),
      write: (text) => {
        answered += text;
      },
      warn: (text) => {
        warned += text;
      },
    },
    clock: Date.now,
    ledger: { isWhole: true, error: null },
    run: async (...args) => {
      answered = '';
      await quiet(gatewayProgram(program.context)).parseAsync(['--config', file, ...args], { from: 'user' });
      return answered;
    },
    json: async (...args) => JSON.parse(await program.run('--json', ...args)),
    get warned() {
      return warned;
    },
    close: () => log.close(),
  };
  return program;
}

/** What is wrong with arguments is thrown, too: tests do not print it. */
function quiet(command: Command): Command {
  command.configureOutput({ writeErr: () => undefined });
  for (const inner of command.commands) quiet(inner);
  return command;
}

/** The same log for one command after the other, each of which closes what it has opened. */
const heldOpen = (log: EventLog): EventLog => ({
  append: log.append.bind(log),
  readStream: log.readStream.bind(log),
  readAll: log.readAll.bind(log),
  subscribeAll: log.subscribeAll.bind(log),
  headPosition: log.headPosition.bind(log),
  close: async () => undefined,
});
