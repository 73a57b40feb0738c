import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { Processes } from '../fixtures/processes/processes.ts';
import type { Load, LoadCommand, LoadReply, Window } from './load/load-protocol.ts';

const REPLY_MS_MAX = 10_000;

/** The load generator's process, seen from the run that directs it. */
export class LoadGenerator {
  readonly #child: ChildProcess;

  constructor(processes: Processes, name = 'load') {
    this.#child = processes.fork(name, new URL('load/main.ts', import.meta.url));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async start(load: Load): Promise<void> {
    await this.#ask({ type: 'start', load });
  }

  async mark(): Promise<void> {
    await this.#ask({ type: 'mark' });
  }

  /** @throws Error when an answer was not 200 or a connection failed since the start. */
  async read(): Promise<Window> {
    const reply = await this.#ask({ type: 'read' });
    if (reply.type !== 'window') throw new Error('the load generator has no window');
    return reply.window;
  }

  async stop(): Promise<void> {
    await this.#ask({ type: 'stop' });
  }

  async #ask(command: LoadCommand): Promise<LoadReply> {
    const replied = once(this.#child, 'message');
    this.#child.send(command);
    const answer = await Promise.race([replied, setTimeout(REPLY_MS_MAX, null, { ref: false })]);
    if (answer === null) throw new Error(`the load generator does not answer "${command.type}"`);
    const reply: LoadReply = answer[0];
    if (reply.type === 'failed') throw new Error(`the load failed: ${reply.reason}`);
    return reply;
  }
}
