import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordedEvent, Subscription } from '../../contracts/event-log.ts';
import { LEDGER_STREAM, type Position } from '../../contracts/ids.ts';
import { FEED_LIMITS } from '../feed/limits.ts';
import { whyElsewhere } from '../identity/compare-ledger.ts';
import { readLedgerState } from '../identity/ledger-state.ts';
import { batches } from './batches.ts';
import { EventPublication, KafkaAwayError, type PreparedBatch } from './event-publication.ts';
import { KafkaReach } from './kafka-reach.ts';
import { LagWatch } from './lag-watch.ts';
import { withinGeneration } from './later-generation.ts';
import { RELAY_LIMITS } from './limits.ts';
import { LogOutage } from './log-outage.ts';
import { assertTopicIsOwn, ledgerOfTopic } from './own-topic.ts';
import { isPublished } from './published.ts';
import { PublishError } from './publisher.ts';
import { type RelayClaim, RelayFencedError } from './relay-claim.ts';
import type { RelayOptions } from './relay-options.ts';
import { standBy } from './stand-by.ts';

/**
 * The relay: stands by until the feed is free, then publishes the log from the checkpoint on, in order, until it is told
 * to stop. Where it does not reach Kafka for half the length of a claim it gives that back, and stands by again until it
 * reaches Kafka. Rejects with what stopped it otherwise: RelayFencedError, UnpublishableEventError, PublishError `mismatch`,
 * LedgerLostError where the topic is not this ledger's, an EventLogError that no retry mends.
 */
export async function runRelay(options: RelayOptions): Promise<void> {
  const { log, publisher, logger, metrics, signal } = options;
  const lag = new LagWatch(log, metrics);
  const outage = new LogOutage(logger);
  metrics.isActive = false;
  try {
    const reach = new KafkaReach(options);
    await reach.try();
    while (!signal.aborted) {
      const claim = await standBy({
        ...options,
        onState: ({ checkpoint }) => {
          outage.isThere();
          lag.acknowledgedElsewhere(checkpoint);
        },
        onOther: (relay) => logger.info({ relay }, 'standing by: another relay is the active one'),
        onLogAway: (error) => outage.isAway(error, 'the event log does not answer; trying again'),
        mayClaim: () => reach.isThere(),
      });
      if (claim === null) return;
      metrics.isActive = true;
      logger.info({ relay: options.relay, epoch: claim.epoch, checkpoint: claim.checkpointed }, 'the active relay');
      const left = await runActive(options, { claim, lag, outage });
      metrics.isActive = false;
      if (left === null) return;
      reach.isLost();
      logger.warn({ reason: left.message }, 'the claim is given back: another relay may reach Kafka');
    }
  } catch (error) {
    options.onEnding?.(error);
    throw error;
  } finally {
    metrics.isActive = false;
    await lag.close();
    await publisher.close();
  }
}

/** Publishes until it is told to stop, which is null, or has not reached Kafka for too long. Rejects as `runRelay` does. */
async function runActive(options: RelayOptions, parts: Omit<ActiveParts, 'halt'>): Promise<KafkaAwayError | null> {
  // Ends whatever still waits when the relay has stopped for a reason of its own.
  const halt = new AbortController();
  const signal = AbortSignal.any([options.signal, halt.signal]);
  try {
    await new ActiveRelay({ ...options, signal }, { ...parts, halt }).run();
    return null;
  } catch (error) {
    if (!(error instanceof KafkaAwayError)) throw error;
    return error;
  } finally {
    parts.lag.waiting(null);
    await options.publisher.close();
  }
}

interface ActiveParts {
  readonly claim: RelayClaim;
  readonly lag: LagWatch;
  readonly outage: LogOutage;
  readonly halt: AbortController;
}

class ActiveRelay {
  readonly #options: RelayOptions;
  readonly #halt: AbortController;
  readonly #claim: RelayClaim;
  readonly #lag: LagWatch;
  readonly #outage: LogOutage;
  readonly #publication: EventPublication;
  readonly #ended = Promise.withResolvers<void>();
  /** Everything up to here is acknowledged or not for the feed. */
  #acknowledged: Position | null;
  #isCheckpointDue = false;
  #isChecking = false;
  #isLooking = false;
  #isSending = false;

  constructor(options: RelayOptions, { claim, lag, outage, halt }: ActiveParts) {
    this.#options = options;
    this.#halt = halt;
    this.#claim = claim;
    this.#lag = lag;
    this.#outage = outage;
    this.#acknowledged = claim.checkpointed;
    this.#publication = new EventPublication({
      ...options,
      claim,
      awayMsMax: options.claimMs / RELAY_LIMITS.awayPart,
      source: `/model-gateway/${options.feed}`,
      ledgerOf: (state) => ledgerOfTopic(state, options),
    });
  }

  async run(): Promise<void> {
    const { signal, logger, claimMs } = this.#options;
    const stop = (): void => this.#ended.resolve();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    // Under a claim that is short it is renewed in time, too.
    const timer = setInterval(() => void this.#check(), Math.min(RELAY_LIMITS.checkMs, claimMs / 4));
    const looks = setInterval(() => void this.#lookAtTopic(), this.#options.topicLookMs ?? FEED_LIMITS.topicLookMs);
    let subscription: Subscription | null = null;
    try {
      if (await this.#start()) {
        subscription = this.#subscribe();
        await this.#ended.promise;
      }
    } catch (error) {
      if (!(error instanceof KafkaAwayError)) this.#options.onEnding?.(error);
      throw error;
    } finally {
      clearInterval(timer);
      clearInterval(looks);
      this.#halt.abort();
      signal.removeEventListener('abort', stop);
      await subscription?.close();
      await this.#leave();
      logger.info({ acknowledged: this.#acknowledged }, 'the relay has stopped');
    }
  }

  /** False when told to stop. */
  async #start(): Promise<boolean> {
    const state = await Promise.race([this.#publication.connect(), this.#ended.promise]);
    if (state === null || state === undefined) return false;
    if (!state.isEmpty || this.#acknowledged === null) return true;
    this.#options.logger.warn({ checkpoint: this.#acknowledged }, 'the topic is empty: filling it from the beginning');
    await this.#claim.checkpoint(null);
    this.#acknowledged = null;
    return true;
  }

  #subscribe(): Subscription {
    const { log, logger } = this.#options;
    this.#lag.acknowledged(this.#acknowledged);
    return log.subscribeAll({
      after: this.#acknowledged,
      onEvents: (events) => {
        this.#outage.isThere();
        return this.#publish(events);
      },
      onDropped: (error) => this.#outage.isAway(error, 'the event log is lost from sight; resuming'),
      onCaughtUp: () => {
        this.#outage.isThere();
        logger.debug('everything that was in the log is published');
        if (this.#options.endsCaughtUp === true) this.#ended.resolve();
      },
      onStopped: (error) => this.#ended.reject(error),
    });
  }

  /** Throws to end the subscription; returns early only when nothing will be handed over any more. */
  async #publish(events: readonly RecordedEvent[]): Promise<void> {
    assert(!this.#isSending, 'one send at a time');
    this.#isSending = true;
    try {
      const { ledger } = this.#publication;
      assert(ledger !== null, 'nothing is read before the topic has proved to be the ledger’s');
      const within = withinGeneration(events, ledger);
      const mine = within.events.filter(isPublished);
      const rest = batches(mine);
      for (let next = this.#prepareNext(rest); next !== null; ) {
        const { batch } = next;
        this.#lag.waiting(batch[0] ?? null);
        const publishing = this.#publication.publish(next);
        // The driver compresses and sends it meanwhile.
        [next] = await Promise.all([nextTurn().then(() => this.#prepareNext(rest)), publishing.catch(() => undefined)]);
        if (!(await publishing)) return;
        this.#acknowledge(batch.at(-1)?.position ?? null);
        this.#isCheckpointDue = true;
      }
      if (this.#options.signal.aborted) return;
      this.#acknowledge(within.events.at(-1)?.position ?? null);
      this.#lag.waiting(null);
      if (within.end !== null) throw within.end;
      if (within.events.some(isMove)) await this.#assertHere();
    } finally {
      this.#isSending = false;
    }
  }

  /** The event of a move stands in the log that the ledger has left, and among the earlier ones of that where it is. */
  async #assertHere(): Promise<void> {
    const { log, place } = this.#options;
    const elsewhere = whyElsewhere(place.where, await readLedgerState(log));
    if (elsewhere !== null) throw elsewhere;
  }

  #prepareNext(rest: Iterator<readonly RecordedEvent[], void>): PreparedBatch | null {
    const { value } = rest.next();
    return value === undefined ? null : this.#publication.prepare(value);
  }

  #acknowledge(position: Position | null): void {
    this.#acknowledged = position ?? this.#acknowledged;
    this.#lag.acknowledged(this.#acknowledged);
  }

  /** Once a second: the checkpoint, where something was acknowledged since the last; else the claim, where it is due. */
  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      if (this.#isCheckpointDue) await this.#writeCheckpoint();
      else await this.#claim.ensure();
    } catch (error) {
      this.#ended.reject(error);
    } finally {
      this.#isChecking = false;
    }
  }

  /** Somebody may have changed it, or another ledger's relay write to it. Whether Kafka is there, publishing tells. */
  async #lookAtTopic(): Promise<void> {
    if (this.#isLooking || this.#publication.ledger === null) return;
    this.#isLooking = true;
    try {
      const state = await this.#options.publisher.look();
      if (!this.#options.signal.aborted) await assertTopicIsOwn(state, this.#options);
    } catch (error) {
      const isAway = error instanceof PublishError && error.kind === 'away';
      if (!isAway && !this.#options.signal.aborted) this.#ended.reject(error);
    } finally {
      this.#isLooking = false;
    }
  }

  async #writeCheckpoint(): Promise<void> {
    this.#isCheckpointDue = false;
    await this.#claim.checkpoint(this.#acknowledged);
  }

  /** The last checkpoint and the release; a log that is away does not keep the relay from stopping. */
  async #leave(): Promise<void> {
    try {
      if (this.#isCheckpointDue) await this.#writeCheckpoint();
      await this.#claim.release();
    } catch (error) {
      // Another relay waits until the claim is over, and publishes again what is behind the last checkpoint.
      const reason = error instanceof Error ? error.message : String(error);
      if (!(error instanceof RelayFencedError)) this.#options.logger.warn({ reason }, 'the claim was not released');
    }
  }
}

const isMove = ({ stream, type }: RecordedEvent): boolean => stream === LEDGER_STREAM && type === 'LedgerMoved';
