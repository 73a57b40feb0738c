import type { OnHidden } from '../../../contracts/event-log.ts';
import type { Position, StreamName } from '../../../contracts/ids.ts';
import { BackOff } from '../../back-off.ts';
import { OutageNews } from '../../outage-news.ts';
import type { Connection, Logger } from './connection.ts';
import type { ReadResponse, WireEvent } from './decode-read-response.ts';
import { readError } from './fault.ts';
import type { EventStoreDbDeadlines } from './limits.ts';
import type { OwnStreams } from './own-streams.ts';
import { ReadCall } from './read-call.ts';
import { hidingRequest } from './read-request.ts';
import { METADATA_TYPE, saidBeside, TOMBSTONE_TYPE } from './why-hidden.ts';

interface HiddenStreamsParts {
  readonly connection: Connection;
  readonly streams: OwnStreams;
  readonly deadlines: EventStoreDbDeadlines;
  readonly logger: Logger | null;
  readonly readHead: () => Promise<Position | null>;
  /** Why a stream is not whole, as the server has it now; null where it is. */
  readonly whyNotWhole: (stream: StreamName) => Promise<string | null>;
  /** Why it cannot be read from its first event to its last; null where it can. */
  readonly whyUnread: (stream: StreamName) => Promise<string | null>;
}

/** How many streams are looked at together. */
const LOOKS_AT_ONCE = 16;

/**
 * Follows what is said of streams beside their events: metadata and tombstones, which are events of $all, from its
 * beginning on. The server looks for them, and sends nothing else. They say where to look, once all that was in the log has
 * come; what is told is what holds by then, for metadata that was mended long ago is nobody's alarm.
 */
export class HiddenStreams {
  readonly #parts: HiddenStreamsParts;
  readonly #onHidden: OnHidden;
  readonly #known: () => readonly StreamName[];
  readonly #closing = new AbortController();
  /** What was told of each; nothing yet where others found it. */
  readonly #hidden = new Map<StreamName, string>();
  /** To be looked at. */
  readonly #suspected = new Set<StreamName>();
  readonly #looked = Promise.withResolvers<void>();
  readonly #outage = new OutageNews();
  readonly #hasEnded: Promise<void>;
  #after: Position | null = null;
  #call: ReadCall | null = null;

  constructor(parts: HiddenStreamsParts, onHidden: OnHidden, known: () => readonly StreamName[] = () => []) {
    this.#parts = parts;
    this.#onHidden = onHidden;
    this.#known = known;
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
    const backOff = new BackOff({ firstMs: deadlines.backoffMs, maxMs: deadlines.backoffMaxMs });
    while (!signal.aborted) {
      try {
        await this.#follow(backOff);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const reason = readError(error).message;
        logger?.[this.#outage.isNews(reason) ? 'warn' : 'debug'](
          { reason },
          'the metadata of streams is out of sight; resuming',
        );
      }
      await backOff.wait(signal);
    }
  }

  async #follow(backOff: BackOff): Promise<void> {
    const { connection, deadlines, readHead } = this.#parts;
    const request = hidingRequest(this.#after, [METADATA_TYPE, TOMBSTONE_TYPE]);
    const call = new ReadCall(connection, request, { connectMs: deadlines.connectMs, requiresLeader: false });
    this.#call = call;
    try {
      const head = await readHead();
      let isBehind = true;
      while (!this.#closing.signal.aborted) {
        // Silence is no fault here: a subscription of the views finds a dead server.
        const taken = await call.take(deadlines.silenceMs);
        if (taken === 'ended') throw new Error('EventStoreDB ended the subscription');
        for (const response of taken === 'silence' ? [] : taken) if (this.#take(response, head)) isBehind = false;
        if (isBehind) continue;
        await this.#lookAtSuspected();
        backOff.reset();
        this.#outage.over();
        this.#looked.resolve();
      }
    } finally {
      call.cancel();
      this.#call = null;
    }
  }

  /** Whether all that was in the log by the head's reading has come. */
  #take(response: ReadResponse, head: Position | null): boolean {
    const { event, checkpoint } = response;
    if (event !== null) this.#takeEvent(event);
    const at = event?.commit ?? checkpoint ?? -1;
    // Some versions of the server send a checkpoint that is no place in the log.
    if (Number.isSafeInteger(at) && at > (this.#after ?? -1)) this.#after = at as Position;
    return response.isCaughtUp || head === null || (this.#after ?? -1) >= head;
  }

  #takeEvent(event: WireEvent): void {
    const said = saidBeside(event, this.#parts.streams);
    if (said !== null && (said.isSuspect || this.#hidden.has(said.stream))) this.#suspected.add(said.stream);
  }

  /** What could not be looked at stays suspected. @throws EventLogError as a read */
  async #lookAtSuspected(): Promise<void> {
    // Nothing may be said of one any more that others found hidden while this was away.
    for (const stream of this.#known()) {
      if (this.#hidden.has(stream)) continue;
      this.#hidden.set(stream, '');
      this.#suspected.add(stream);
    }
    const suspected = [...this.#suspected];
    for (let at = 0; at < suspected.length; at += LOOKS_AT_ONCE)
      await Promise.all(suspected.slice(at, at + LOOKS_AT_ONCE).map((stream) => this.#lookAt(stream)));
  }

  async #lookAt(stream: StreamName): Promise<void> {
    const { whyNotWhole, whyUnread } = this.#parts;
    // A scavenge may have left a hole behind the first event: what readers found hidden is whole again where it can be read.
    const why = (await whyNotWhole(stream)) ?? (this.#hidden.has(stream) ? await whyUnread(stream) : null);
    this.#suspected.delete(stream);
    if (why === (this.#hidden.get(stream) ?? null)) return;
    if (why === null) this.#hidden.delete(stream);
    else this.#hidden.set(stream, why);
    this.#onHidden(stream, why);
  }
}
