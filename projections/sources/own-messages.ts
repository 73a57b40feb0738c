import { type EventLog, type EventLogError, unlessHidden } from '../../contracts/event-log.ts';
import type { FeedEvent } from '../../contracts/feed-message.ts';
import type { EventId, Revision, StreamName } from '../../contracts/ids.ts';
import { isSameLedger, type LedgerIdentity } from '../../contracts/ledger-identity.ts';
import type { TopicLook } from '../../ledger/feed/topic-look.ts';
import {
  assertNoOtherLedger,
  assertOwnTopic,
  type LedgerPlace,
  otherLedgerOf,
} from '../../ledger/identity/assert-own-topic.ts';
import { IDENTITY_LIMITS } from '../../ledger/identity/limits.ts';
import { topicSource } from '../../ledger/identity/topic-knowledge.ts';
import { untilLogAnswers } from '../../ledger/until-log-answers.ts';
import { VIEW_LIMITS } from '../limits.ts';

interface OwnMessagesOptions {
  readonly topic: string;
  readonly log: EventLog;
  readonly place: LedgerPlace;
  /** Resolves once the ledger is known to have everything that is known of it. */
  readonly ledger: Promise<LedgerIdentity>;
  /** Each time that the log does not tell: it is asked again. */
  readonly onAway: (error: EventLogError) => void;
  readonly signal: AbortSignal;
}

/** Whether messages are of our ledger: they say so, or (from before) stream, revision and id are in the log. */
export class OwnMessages {
  readonly #options: OwnMessagesOptions;

  constructor(options: OwnMessagesOptions) {
    this.#options = options;
  }

  /** Before anything is read. @throws LedgerLostError also where the ledger is behind its topic; the signal's reason */
  async seen({ tail }: TopicLook): Promise<void> {
    const { topic, log, place, ledger } = this.#options;
    // While the log is away, nothing else tells so of views that it does not feed.
    await this.#untilAnswered(() => log.headPosition());
    await ledger;
    await this.#untilAnswered(() => assertOwnTopic(log, tail, { topic, ...place }));
  }

  /** @throws LedgerLostError; the signal's reason */
  async assertOwn(events: readonly FeedEvent[]): Promise<void> {
    const { topic, place } = this.#options;
    const is = await this.#options.ledger;
    const fromBefore: FeedEvent[] = [];
    for (const event of events) {
      if (event.ledger === null) fromBefore.push(event);
      else if (!isSameLedger(event.ledger, is)) throw otherLedgerOf(event.ledger, is, { topic, ...place });
    }
    if (fromBefore.length > 0) await this.#assertKnownHere(fromBefore);
  }

  async #assertKnownHere(events: readonly FeedEvent[]): Promise<void> {
    const { log, topic, place } = this.#options;
    const runs = runsOf(events);
    for (let from = 0; from < runs.length; from += IDENTITY_LIMITS.readsAtOnce) {
      const some = runs.slice(from, from + IDENTITY_LIMITS.readsAtOnce);
      const unknown = await this.#untilAnswered(() => Promise.all(some.map((run) => unknownOf(log, run))));
      const known = [{ source: topicSource(topic), identity: null, events: unknown.flat() }];
      // Looked for again: a node that lags behind its leader may have them in a moment.
      if (known[0]?.events.length !== 0)
        await this.#untilAnswered(() => assertNoOtherLedger(log, known, { topic, ...place }));
    }
  }

  #untilAnswered<T>(work: () => Promise<T>): Promise<T> {
    const { signal, onAway: onEach } = this.#options;
    return untilLogAnswers(work, { signal, onEach, pauseMsMax: VIEW_LIMITS.contactPauseMaxMs });
  }
}

/** Revisions of one stream that follow one another. */
type Run = readonly [FeedEvent, ...FeedEvent[]];

function runsOf(events: readonly FeedEvent[]): Run[] {
  const runs: [FeedEvent, ...FeedEvent[]][] = [];
  const last = new Map<StreamName, [FeedEvent, ...FeedEvent[]]>();
  for (const event of events) {
    const run = last.get(event.stream);
    if (run !== undefined && run.at(-1)?.revision === event.revision - 1) {
      run.push(event);
      continue;
    }
    const begun: [FeedEvent, ...FeedEvent[]] = [event];
    last.set(event.stream, begun);
    runs.push(begun);
  }
  return runs;
}

/** Those that the log does not have at their place; of a stream of which it hides events nothing is known. */
async function unknownOf(log: EventLog, run: Run): Promise<readonly FeedEvent[]> {
  const [{ stream, revision: from }] = run;
  const read = async (): Promise<readonly FeedEvent[]> => {
    const there = new Map<Revision, EventId>();
    for await (const { revision, id } of log.readStream(stream, { from, limit: run.length })) there.set(revision, id);
    return run.filter(({ revision, id }) => there.get(revision) !== id);
  };
  return unlessHidden(read(), []);
}
