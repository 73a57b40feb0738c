import type { Expected } from './append-outcome.ts';
import type { AppendFault, CapabilitiesFault, ReadFault } from './fault-kinds.ts';
import { RandomFaults, type RandomFaultsOptions } from './random-faults.ts';
import type { ProposedRecord } from './stored-event.ts';

export interface SeenAppend {
  readonly stream: string;
  readonly expected: Expected;
  readonly events: readonly ProposedRecord[];
  /** The RPC it came by. */
  readonly rpc: 'append' | 'batchAppend';
}

interface SeenRead {
  /** Null is $all. */
  readonly stream: string | null;
  readonly direction: 'forwards' | 'backwards';
  /** Infinity where the client named none. */
  readonly count: number;
}

interface SeenSubscription {
  /** Null is $all. */
  readonly stream: string | null;
  readonly filtered: boolean;
  /** By the types of events, not by their streams. */
  readonly byType: boolean;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/**
 * What the server does wrong. For each call the test's own function is asked first, then the queue, then chance; the
 * first that says anything but `ok` decides.
 */
export class Faults {
  /** A promise holds the append back until the test decides; it is stored, or not, only then. */
  onAppend: ((append: SeenAppend) => AppendFault | Promise<AppendFault>) | null = null;
  onRead: ((read: SeenRead) => ReadFault) | null = null;
  onSubscribe: ((subscription: SeenSubscription) => ReadFault) | null = null;

  /** A slow server: each append waits so long before it is stored. */
  appendDelayMs = 0;
  /** Access control: appends and deletes, and reads of and subscriptions to $all. */
  mayAppend = true;
  mayReadAll = true;
  /** Another node leads: appends, deletes, and calls that require the leader are sent there. Null: this node leads. */
  leader: Endpoint | null = null;
  /** Where the fault `not-leader` of one call sends the client. Port 0 is this node's own. */
  leaderEndpoint: Endpoint = { host: '127.0.0.1', port: 0 };

  /** How often each fault of an append, a read and so on has struck, as `append refuse` or `read breakAfterEvents`. */
  readonly struck = new Map<string, number>();

  readonly #appends: AppendFault[] = [];
  readonly #reads: ReadFault[] = [];
  readonly #subscriptions: ReadFault[] = [];
  readonly #capabilities: CapabilitiesFault[] = [];
  #random: RandomFaults | null = null;

  /** The next appends meet these, in this order. */
  nextAppends(...faults: AppendFault[]): void {
    this.#appends.push(...faults);
  }

  nextReads(...faults: ReadFault[]): void {
    this.#reads.push(...faults);
  }

  nextSubscriptions(...faults: ReadFault[]): void {
    this.#subscriptions.push(...faults);
  }

  nextCapabilities(...faults: CapabilitiesFault[]): void {
    this.#capabilities.push(...faults);
  }

  /** From now on faults strike by chance; the same seed and the same calls give the same faults. */
  byChance(options: RandomFaultsOptions): void {
    this.#random = new RandomFaults(options);
  }

  /** The server does nothing wrong from now on. What has struck stays counted. */
  clear(): void {
    this.onAppend = null;
    this.onRead = null;
    this.onSubscribe = null;
    this.appendDelayMs = 0;
    this.mayAppend = true;
    this.mayReadAll = true;
    this.leader = null;
    this.#random = null;
    for (const queue of [this.#appends, this.#reads, this.#subscriptions, this.#capabilities]) queue.length = 0;
  }

  /** The server's own question, once for each append. */
  ofAppend(append: SeenAppend): AppendFault | Promise<AppendFault> {
    if (!this.mayAppend) return this.#count('append', 'access-denied');
    if (this.leader !== null) return this.#count('append', 'not-leader');
    const told = this.onAppend?.(append) ?? 'ok';
    if (told instanceof Promise) return told.then((fault) => this.#count('append', fault));
    if (told !== 'ok') return this.#count('append', told);
    return this.#count('append', this.#appends.shift() ?? this.#random?.ofAppend() ?? 'ok');
  }

  ofRead(read: SeenRead, requiresLeader: boolean): ReadFault {
    if (read.stream === null && !this.mayReadAll) return this.#count('read', 'access-denied');
    if (requiresLeader && this.leader !== null) return this.#count('read', 'not-leader');
    const told = this.onRead?.(read) ?? 'ok';
    if (told !== 'ok') return this.#count('read', told);
    return this.#count('read', this.#reads.shift() ?? this.#random?.ofRead() ?? 'ok');
  }

  ofSubscription(subscription: SeenSubscription, requiresLeader: boolean): ReadFault {
    if (subscription.stream === null && !this.mayReadAll) return this.#count('subscription', 'access-denied');
    if (requiresLeader && this.leader !== null) return this.#count('subscription', 'not-leader');
    const told = this.onSubscribe?.(subscription) ?? 'ok';
    if (told !== 'ok') return this.#count('subscription', told);
    return this.#count('subscription', this.#subscriptions.shift() ?? this.#random?.ofSubscription() ?? 'ok');
  }

  ofCapabilities(): CapabilitiesFault {
    return this.#count('capabilities', this.#capabilities.shift() ?? 'ok');
  }

  #count<F extends AppendFault | ReadFault | CapabilitiesFault>(call: string, fault: F): F {
    if (fault === 'ok') return fault;
    const name = `${call} ${typeof fault === 'string' ? fault : Object.keys(fault).join()}`;
    this.struck.set(name, (this.struck.get(name) ?? 0) + 1);
    return fault;
  }
}
