import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { brief } from '../../contracts/printable.ts';

const PROGRAM = fileURLToPath(new URL('./copy-program.ts', import.meta.url));

/** The place has not answered in time. */
class SilentPlaceError extends Error {
  override readonly name = 'SilentPlaceError';
}

/**
 * The file of a copy, held open by a process of its own: a thread that waits for a place that hangs, such as a share whose
 * server is away, could be ended by nothing, and this program not without it.
 */
export class CopyProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<void>;
  readonly #late = Promise.withResolvers<never>();
  #answersWithinMs: number;
  #timer: NodeJS.Timeout | null = null;

  private constructor(child: ChildProcessWithoutNullStreams, answersWithinMs: number) {
    this.#answersWithinMs = answersWithinMs;
    this.#child = child;
    // Written to one that has ended: the end says why.
    this.#child.stdin.on('error', () => {});
    this.#ended = this.#end();
    // Each is looked at by whoever asks for something meanwhile, which may be nobody.
    for (const failing of [this.#ended, this.#late.promise]) failing.catch(() => {});
  }

  /**
   * @param args of `copy-program.ts` @param answersWithinMs for each thing that is asked of the place, asked for once the process runs
   * @throws Error of the system where none can be started, as without a descriptor for its streams: those are missing then, and why is told a turn later
   */
  static async start(args: readonly string[], answersWithinMs: () => number): Promise<CopyProcess> {
    // Nothing of the environment, in which there are providers' keys; and SIGUSR1 opens no debugger to others (`proxy/main.mjs`).
    const flags = ['--disable-sigusr1', '--no-warnings'];
    const child = spawn(process.execPath, [...flags, PROGRAM, ...args], { env: {} });
    await once(child, 'spawn');
    return new CopyProcess(child, answersWithinMs());
  }

  /** The end of the file. @throws SilentPlaceError; Error of the file system */
  async tail(): Promise<string> {
    const line = once(createInterface(this.#child.stdout), 'line').then(([said]): unknown => JSON.parse(said));
    const unsaid = this.#ended.then(() => Promise.reject(new Error('the process that writes it has ended early')));
    return String(await this.#answer(Promise.race([line, unsaid])));
  }

  /** On disk when it resolves. @throws SilentPlaceError; Error of the file system */
  async add(lines: string): Promise<void> {
    this.#child.stdin.end(lines);
    await this.#answer(this.#ended);
  }

  /** From now on the place has so long, also for what it is being asked. */
  answerWithin(ms: number): void {
    this.#answersWithinMs = ms;
    if (this.#timer !== null) this.#arm();
  }

  /** Idempotent; not waited for, since a process that waits for the disk is not ended before that. */
  end(): void {
    this.#child.kill('SIGKILL');
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
    this.#child.unref();
  }

  async #answer<Answer>(answer: Promise<Answer>): Promise<Answer> {
    this.#arm();
    try {
      return await Promise.race([answer, this.#late.promise]);
    } finally {
      this.#disarm();
    }
  }

  #arm(): void {
    this.#disarm();
    const ms = this.#answersWithinMs;
    const late = new SilentPlaceError(`the place has not answered within ${ms / 1000} s`);
    this.#timer = setTimeout(() => this.#late.reject(late), ms);
  }

  #disarm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  async #end(): Promise<void> {
    const [[code], said] = await Promise.all([once(this.#child, 'close'), text(this.#child.stderr)]);
    if (code !== 0) throw new Error(said === '' ? 'the process that writes it was ended' : brief(said));
  }
}
