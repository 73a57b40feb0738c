import type { Logger } from 'pino';
import { isWantOfRoom } from '../../projections/want-of-room.ts';
import {
  type Asked,
  isThere,
  type OperatorAnswer,
  type OperatorRequest,
  type RequestFiles,
  readRequest,
  removeLeft,
  removeRequest,
  requestsIn,
  writeAnswer,
} from './operator-request.ts';

const LOOK_MS = 200;

interface OperatorDeskOptions {
  readonly dataFolder: string;
  readonly clock: () => number;
  readonly logger: Logger;
  /** Whether who has asked is still there, as far as that can be told. */
  readonly isAwaited: (asked: Asked) => boolean;
  /** Does it, or throws why not. */
  readonly carryOut: (asked: Asked, signal: AbortSignal) => Promise<void>;
}

/** What commands ask of a gateway that runs, looked for in its data folder and carried out one after the other. */
export class OperatorDesk {
  readonly #options: OperatorDeskOptions;
  readonly #ending = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #working: Promise<void> = Promise.resolve();
  /** The folder could not be read at the last look: that is told once. */
  #isBlind = false;

  constructor(options: OperatorDeskOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#ending.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#working = this.#look().finally(() => this.start());
    }, LOOK_MS);
  }

  async close(): Promise<void> {
    this.#ending.abort(new Error('the gateway is ending'));
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#working;
  }

  async #look(): Promise<void> {
    const { dataFolder, clock, logger } = this.#options;
    try {
      for (const files of requestsIn(dataFolder)) if (!this.#ending.signal.aborted) await this.#answer(files);
      removeLeft(dataFolder, clock());
      this.#isBlind = false;
    } catch (error) {
      // As when descriptors are short; it is looked again.
      if (!this.#isBlind) logger.error({ err: error }, 'what operators ask for cannot be looked at');
      this.#isBlind = true;
    }
  }

  async #answer(files: RequestFiles): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      const request = readRequest(files);
      if (request === null) return;
      // Whoever has asked is gone.
      if (request.untilMs < clock() || !this.#isAsked(files, request)) removeRequest(files);
      else {
        const done = await this.#carryOut(files, request);
        if (this.#isAsked(files, request)) writeAnswer(files, { id: request.id, ...done });
      }
    } catch (error) {
      logger.error({ err: error }, 'what an operator has asked for cannot be read or answered, and is dropped');
      removeRequest(files);
    }
  }

  async #carryOut(files: RequestFiles, request: OperatorRequest): Promise<Omit<OperatorAnswer, 'id'>> {
    const { asked, untilMs } = request;
    const { clock, logger, carryOut } = this.#options;
    const inTime = AbortSignal.timeout(Math.max(1, untilMs - clock()));
    const withdrawn = new AbortController();
    const look = setInterval(() => {
      if (!this.#isAsked(files, request)) withdrawn.abort(new Error('whoever has asked has withdrawn it'));
    }, LOOK_MS);
    try {
      await carryOut(asked, AbortSignal.any([this.#ending.signal, inTime, withdrawn.signal]));
      logger.warn({ asked }, 'done what an operator has asked for');
      return { refused: null };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      logger.error({ asked, reason }, 'what an operator has asked for is not done');
      return isWantOfRoom(error) ? { refused: reason, shortage: 'disk' } : { refused: reason };
    } finally {
      clearInterval(look);
    }
  }

  #isAsked(files: RequestFiles, { asked }: OperatorRequest): boolean {
    return isThere(files) && this.#options.isAwaited(asked);
  }
}
