import { randomUUID } from 'node:crypto';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import { type EventFilter, eventFilter } from './event-filter.ts';
import { AllForwards, type EventSource, StreamForwards } from './event-source.ts';
import { strikeOf } from './read-fault.ts';
import { type ReadCall, streamOf } from './read-options.ts';
import { caughtUp, checkpoint, confirmation, eventResponse } from './read-responses.ts';
import * as errors from './rpc-errors.ts';
import type { ServerNode } from './server-node.ts';

/**
 * A live subscriber that is further behind than the server's live buffer is fed from the log again; servers before 24.2
 * drop it.
 */
const LIVE_BUFFER_EVENTS = 32;

/** Confirmation, what is there, `caught_up`, then live; with a filter also checkpoints. Ends with its call only. */
export function subscribe(
  node: ServerNode,
  call: ReadCall,
  options: streams.ReadReq.Options,
  requiresLeader: boolean,
): void {
  const stream = streamOf(options);
  const filterOptions = options.getFilter();
  const filter = filterOptions === undefined ? null : eventFilter(filterOptions);
  const fault = node.faults.ofSubscription(
    { stream, filtered: filter !== null, byType: filterOptions?.hasEventType() ?? false },
    requiresLeader,
  );
  if (stream !== null && node.log.stream(stream)?.tombstoned) {
    call.emit('error', errors.streamDeleted(stream));
    return;
  }
  const source = stream === null ? allSource(node, options) : streamSource(node, stream, options);
  new SubscriptionFeed(node, call, source, filter, strikeOf(node, fault)).start();
}

class SubscriptionFeed {
  readonly #node: ServerNode;
  readonly #call: ReadCall;
  readonly #source: EventSource;
  readonly #filter: EventFilter | null;
  readonly #strike: ReturnType<typeof strikeOf>;
  #stopListening: () => void = () => {};
  #sent = 0;
  #considered = 0;
  #lastConsidered: number | null = null;
  #isLive = false;
  #isWaitingForDrain = false;
  #isOver = false;

  constructor(
    node: ServerNode,
    call: ReadCall,
    source: EventSource,
    filter: EventFilter | null,
    strike: ReturnType<typeof strikeOf>,
  ) {
    this.#node = node;
    this.#call = call;
    this.#source = source;
    this.#filter = filter;
    this.#strike = strike;
  }

  start(): void {
    if (this.#strike !== null && this.#strike.after < 0) {
      this.#fail();
      return;
    }
    this.#stopListening = this.#node.log.onStored(() => (this.#isTooSlow() ? this.#dropSlow() : this.#run()));
    this.#call.once('cancelled', () => this.#end());
    this.#call.once('close', () => this.#end());
    this.#call.on('drain', () => {
      this.#isWaitingForDrain = false;
      this.#run();
    });
    this.#write(confirmation(randomUUID()));
    this.#run();
  }

  #run(): void {
    while (!this.#isOver && !this.#isWaitingForDrain) {
      if (this.#strike !== null && this.#sent >= this.#strike.after) {
        this.#fail();
        return;
      }
      if (this.#source.ahead() > LIVE_BUFFER_EVENTS) this.#isLive = false;
      const event = this.#source.next();
      if (event === null) {
        this.#reachHead();
        return;
      }
      if (this.#filter === null || this.#filter.matches(event)) {
        this.#sent += 1;
        this.#node.seen.eventsWritten += 1;
        this.#write(eventResponse(event));
      }
      this.#lastConsidered = event.position;
      this.#considered += 1;
      if (this.#filter !== null && this.#considered % this.#filter.checkpointEvery === 0) this.#checkpoint();
    }
  }

  /** Asked when something is stored, whether or not the way to the client is free. */
  #isTooSlow(): boolean {
    const isOld = this.#node.version !== '24.2';
    return isOld && !this.#isOver && this.#isLive && this.#source.ahead() > LIVE_BUFFER_EVENTS;
  }

  #dropSlow(): void {
    this.#end();
    this.#node.seen.slowConsumers += 1;
    this.#call.emit('error', errors.consumerTooSlow());
  }

  #reachHead(): void {
    if (this.#isLive) return;
    this.#isLive = true;
    if (this.#filter !== null) this.#checkpoint();
    if (this.#node.version !== '22.10') this.#write(caughtUp());
  }

  #checkpoint(): void {
    if (this.#lastConsidered !== null) this.#write(checkpoint(this.#lastConsidered));
  }

  #write(response: streams.ReadResp): void {
    if (!this.#call.write(response)) this.#isWaitingForDrain = true;
  }

  #fail(): void {
    this.#end();
    const strike = this.#strike?.strike;
    if (strike?.type === 'fail') this.#call.emit('error', strike.error);
    else if (strike?.type === 'cut') this.#node.cut(this.#call.getPeer());
  }

  #end(): void {
    this.#isOver = true;
    this.#stopListening();
  }
}

/** A subscription begins after its position, where a read begins at it. */
function allSource(node: ServerNode, options: streams.ReadReq.Options): EventSource {
  const { log } = node;
  const all = options.getAll();
  const position = all?.getPosition();
  if (position === undefined) return new AllForwards(log, all?.hasEnd() ? log.events.length : 0);
  return new AllForwards(log, log.indexAt(Number(position.getCommitPosition()) + 1));
}

function streamSource(node: ServerNode, name: string, options: streams.ReadReq.Options): EventSource {
  const from = options.getStream();
  const after = from?.hasEnd() ? (node.log.stream(name)?.lastRevision ?? -1) : -1;
  return new StreamForwards(node.log, name, (from?.hasRevision() ? Number(from.getRevision()) : after) + 1);
}
