import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { GATEWAY_PROGRAM } from '../../fixtures/processes/gateway-command.ts';
import { nodeFlagsOf } from '../../fixtures/processes/node-flags.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { eventStore } from '../event-store.ts';
import type {
  SettlementCommand,
  SettlementLog,
  SettlementReply,
  SettlementSpread,
  SettlementWindow,
} from './settlement-protocol.ts';

/** Opening a thousand accounts, or settling what is left, takes a few seconds at most. */
const REPLY_MS_MAX = 30_000;

/** A settler's process on a log of its own, seen from the run that directs it. */
export class Settler {
  readonly log: SettlementLog;
  /** The settler's, and the event store's where there is one. */
  readonly pids: readonly number[];
  readonly name: string;
  readonly #child: ChildProcess;

  private constructor(log: SettlementLog, name: string, child: ChildProcess, storePid: number | null) {
    this.log = log;
    this.name = name;
    this.#child = child;
    this.pids = [child.pid ?? 0, ...(storePid === null ? [] : [storePid])];
  }

  /** Starts the process, and the event store that it needs, and opens the accounts. */
  static async start(processes: Processes, log: SettlementLog, profileFolder: string | null): Promise<Settler> {
    const store = log.startsWith('sqlite') ? null : await eventStore(processes, `store-of-${log}`);
    const name = `settler-${log}`;
    const child = processes.fork(name, new URL('main.ts', import.meta.url), [
      ...nodeFlagsOf(GATEWAY_PROGRAM),
      ...(profileFolder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]),
    ]);
    const settler = new Settler(log, name, child, store?.pid ?? null);
    // A run measures one kind of log several times: each has its own.
    const own = randomUUID();
    const at = store?.connectionString ?? join(processes.folder, `settlements-${own}.db`);
    await settler.#ask({ type: 'open', log, at, streamPrefix: `bench-${own}-` });
    return settler;
  }

  async start(spread: SettlementSpread): Promise<void> {
    await this.#ask({ type: 'start', spread });
  }

  async mark(): Promise<void> {
    await this.#ask({ type: 'mark' });
  }

  /** @throws Error when a request got stuck or the log was away since the start. */
  async read(): Promise<SettlementWindow> {
    const reply = await this.#ask({ type: 'read' });
    if (reply.type !== 'window') throw new Error(`${this.name} has no window`);
    return reply.window;
  }

  async stop(): Promise<void> {
    await this.#ask({ type: 'stop' });
  }

  async #ask(command: SettlementCommand): Promise<SettlementReply> {
    const replied = once(this.#child, 'message');
    this.#child.send(command);
    const answer = await Promise.race([replied, setTimeout(REPLY_MS_MAX, null, { ref: false })]);
    if (answer === null) throw new Error(`${this.name} does not answer "${command.type}"`);
    const reply: SettlementReply = answer[0];
    if (reply.type === 'failed') throw new Error(`${this.name} failed: ${reply.reason}`);
    return reply;
  }
}
