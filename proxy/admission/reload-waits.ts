import type { AccountEvent } from '../../contracts/events.ts';
import type { AccountId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { isReloading } from '../../ledger/account/decide-reload.ts';
import { TIMING, type Timing } from '../../ledger/timing.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import type { CallingClient } from '../calling-client.ts';

/**
 * What leaves a request as it was: what others use, which ends in less credit, and parts of what comes in one append. The
 * credits of a payment follow it: in between there is neither an attempt nor what it has brought.
 */
const TELLS_NOTHING: ReadonlySet<AccountEvent['type']> = new Set([
  ...(['UsageRecorded', 'CreditsDebited', 'CreditsLeased', 'LeaseReleased', 'LeaseNarrowed'] as const),
  'PaymentSucceeded',
]);

interface ReloadWaitsOptions {
  readonly accounts: AccountViews;
  readonly clock: () => number;
  /** `autoReload.waitMs` of the configuration; 0 is not at all. */
  readonly waitMs: number;
  /** Somebody waits for what is to be bought: it is begun now where nobody has yet. */
  readonly begin: (accountId: AccountId) => void;
  readonly timing?: Timing;
}

/**
 * Requests for which there are no credits, while credits are being bought by themselves (auto-reload). Each waits until an event of
 * its account may have changed that, and is then decided anew by whoever asked; those of one account in the order in which they came.
 */
export class ReloadWaits {
  readonly #options: ReloadWaitsOptions;
  readonly #timing: Timing;
  readonly #waiting = new Map<AccountId, Set<ReloadWait>>();
  #count = 0;

  constructor(options: ReloadWaitsOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
    options.accounts.onFolded((accountId, event) => {
      const waits = this.#waiting.get(accountId);
      if (waits === undefined || TELLS_NOTHING.has(event.type)) return;
      if (this.#isInVain(accountId, event)) for (const wait of waits) wait.inVain();
      this.#wake(waits);
    });
  }

  get count(): number {
    return this.#count;
  }

  /** Null where it does not wait: nothing is being bought, too many wait already, its client has left, or nobody is to. */
  begin(accountId: AccountId, client: ReloadWait['client']): ReloadWait | null {
    const { waitMs, begin } = this.#options;
    const { reloadWaitingMax, reloadWaitingPerAccountMax } = LIMITS;
    const ofAccount = this.#waiting.get(accountId) ?? new Set();
    const hasRoom = this.#count < reloadWaitingMax && ofAccount.size < reloadWaitingPerAccountMax;
    if (waitMs === 0 || client.hasLeft || !hasRoom || !this.#isWorthwhile(accountId)) return null;
    const wait = new ReloadWait(client, {
      waitMs,
      timing: this.#timing,
      isWorthwhile: () => this.#isWorthwhile(accountId),
      end: () => this.#end(accountId, wait),
    });
    this.#waiting.set(accountId, ofAccount.add(wait));
    this.#count++;
    begin(accountId);
    return wait;
  }

  /** Nothing is admitted any more, and whoever waits is to be told. */
  close(): void {
    for (const ofAccount of this.#waiting.values()) this.#wake(ofAccount);
  }

  /** What was waited for was not paid. Another attempt, where one follows, is for who comes then. */
  #isInVain(accountId: AccountId, { type, data }: AccountEvent): boolean {
    if (type !== 'PaymentFailed' && type !== 'PaymentAbandoned') return false;
    const { state } = this.#options.accounts.read(accountId);
    return state.type === 'open' && state.billing.payments.attempts[data.attemptId]?.kind === 'reload';
  }

  #wake(waits: Iterable<ReloadWait>): void {
    for (const wait of waits) wait.wake();
  }

  #isWorthwhile(accountId: AccountId): boolean {
    const { accounts, clock } = this.#options;
    const { state } = accounts.read(accountId);
    return state.type === 'open' && isReloading(state, clock());
  }

  #end(accountId: AccountId, wait: ReloadWait): void {
    const ofAccount = this.#waiting.get(accountId);
    if (ofAccount?.delete(wait) !== true) return;
    this.#count--;
    if (ofAccount.size === 0) this.#waiting.delete(accountId);
  }
}

interface WaitParts {
  readonly waitMs: number;
  readonly timing: Timing;
  readonly isWorthwhile: () => boolean;
  readonly end: () => void;
}

/** The wait of one request. Whoever has begun it ends it. */
export class ReloadWait {
  readonly client: Pick<CallingClient, 'hasLeft' | 'onceLeft'>;
  readonly #parts: WaitParts;
  readonly #begunMs: number;
  readonly #forgetClient: () => void;
  #change = new AbortController();
  #isInVain = false;

  constructor(client: ReloadWait['client'], parts: WaitParts) {
    this.client = client;
    this.#parts = parts;
    this.#begunMs = parts.timing.passedMs();
    this.#forgetClient = client.onceLeft(() => this.wake());
  }

  get ms(): number {
    return this.#parts.timing.passedMs() - this.#begunMs;
  }

  inVain(): void {
    this.#isInVain = true;
  }

  wake(): void {
    this.#change.abort();
  }

  /** Until something may have changed, its time is over, or its client has left. */
  async change(): Promise<void> {
    const { timing, waitMs } = this.#parts;
    await timing.pause(waitMs - this.ms, this.#change.signal);
    this.#change = new AbortController();
  }

  /** Whether it has time left, and something to wait for. */
  goesOn(): boolean {
    const hasTime = this.ms < this.#parts.waitMs && !this.client.hasLeft;
    return hasTime && !this.#isInVain && this.#parts.isWorthwhile();
  }

  end(): void {
    this.#forgetClient();
    this.#parts.end();
  }
}
