import { setTimeout as pause } from 'node:timers/promises';
import type { OnHidden } from '../../../contracts/event-log.ts';
import type { Position, StreamName } from '../../../contracts/ids.ts';
import type { Connection, Logger } from './connection.ts';
import type { ReadResponse, WireEvent } from './decode-read-response.ts';
import { readError } from './fault.ts';
import type { EventStoreDbDeadlines } from './limits.ts';
import type { OwnStreams } from './own-streams.ts';
import { ReadCall } from './read-call.ts';
import { hidingRequest } from './read-request.ts';
import { METADATA_TYPE, TOMBSTONE_TYPE, whyHidden, whyTombstoned } from './why-hidden.ts';

export interface HiddenStreamsParts {
  readonly connection: Connection;
  readonly streams: OwnStreams;
  readonly deadlines: EventStoreDbDeadlines;
  readonly logger: Logger | null;
  readonly readHead: () => Promise<Position | null>;
  /** Whether a stream begins with its first event. */
  readonly isWhole: (stream: StreamName) => Promise<boolean>;
}

/**
 * Follows what is said of streams beside their events: metadata and tombstones, which are events of $all, from its
 * beginning on. The server looks for them, and sends nothing else.
 */
export class HiddenStreams {
  readonly #parts: HiddenStreamsParts;
  readonly #onHidden: OnHidden;
  readonly #closing = new AbortController();
  readonly #hidden = new Map<StreamName, string>();
  readonly #looked = Promise.withResolvers<void>();
  readonly #hasEnded: Promise<void>;
  #after: Position | null = null;
  #call: ReadCall | null = null;

  constructor(parts: HiddenStreamsParts, onHidden: OnHidden) {
    this.#parts = parts;
    this.#onHidden = onHidden;
    this.#hasEnded = this.#run();
  }

  /** Resolves when everything that was in the log has been looked at, or the log is closed. */
  get looked(): Promise<void> {
    return this.#looked.promise;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#call?.cancel();
    this.#looked.resolve();
    await this.#hasEnded;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    const { deadlines, logger } = this.#parts;
    for (let waitMs = deadlines.backoffMs; !signal.aborted; waitMs = Math.min(deadlines.backoffMaxMs, waitMs * 2)) {
      try {
        await this.#follow();
        return;
      } catch (error) {
        if (signal.aborted) return;
        logger?.warn({ reason: readError(error).message }, 'the metadata of streams is out of sight; resuming');
      }
      await pause(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch((cause: unknown) => {
        if (!signal.aborted) throw cause;
      });
    }
  }

  async #follow(): Promise<void> {
    const { connection, deadlines, readHead } = this.#parts;
    const request = hidingRequest(this.#after, [METADATA_TYPE, TOMBSTONE_TYPE]);
    const call = new ReadCall(connection, request, { connectMs: deadlines.connectMs, requiresLeader: false });
    this.#call = call;
    try {
      const head = await readHead();
      while (!this.#closing.signal.aborted) {
        // Silence means nothing here: a subscription of the views finds a dead server.
        const taken = await call.take(deadlines.silenceMs);
        if (taken === 'ended') throw new Error('EventStoreDB ended the subscription');
        if (taken === 'silence') continue;
        for (const response of taken) await this.#take(response, head);
      }
    } finally {
      call.cancel();
      this.#call = null;
    }
  }

  async #take(response: ReadResponse, head: Position | null): Promise<void> {
    const { event, checkpoint } = response;
    if (event !== null) await this.#takeEvent(event);
    const at = event?.commit ?? checkpoint ?? -1;
    // Some versions of the server send a checkpoint that is no place in the log.
    if (Number.isSafeInteger(at) && at > (this.#after ?? -1)) this.#after = at as Position;
    if (response.isCaughtUp || head === null || (this.#after ?? -1) >= head) this.#looked.resolve();
  }

  async #takeEvent(event: WireEvent): Promise<void> {
    const onServer = event.stream.replace(/^\$\$/, '');
    const stream = this.#parts.streams.nameOf(onServer);
    if (stream === null) return;
    if (event.type === TOMBSTONE_TYPE) return this.#tell(stream, whyTombstoned(onServer));
    const why = whyHidden(onServer, event.data.toString('utf8'));
    if (why !== null) return this.#tell(stream, why);
    if (!this.#hidden.has(stream)) return;
    if (await this.#parts.isWhole(stream)) this.#tell(stream, null);
    else this.#tell(stream, `${onServer} has lost its first events in EventStoreDB: only a backup has them`);
  }

  #tell(stream: StreamName, why: string | null): void {
    if (why === null) this.#hidden.delete(stream);
    else this.#hidden.set(stream, why);
    this.#onHidden(stream, why);
  }
}
