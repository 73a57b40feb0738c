import type { AccountEvent } from '../../contracts/events.ts';
import type { AccountId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { isReloading } from '../../ledger/account/decide-reload.ts';
import { attemptOf } from '../../ledger/account/payments.ts';
import { TIMING, type Timing } from '../../ledger/timing.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import type { CallingClient } from '../calling-client.ts';
import type { Holds } from '../holds.ts';

/** What others use, which leaves no more credit, and parts of what comes in one append: the credits of a payment follow it. */
const TELLS_NOTHING: ReadonlySet<AccountEvent['type']> = new Set([
  'UsageRecorded',
  'CreditsDebited',
  'CreditsLeased',
  'PaymentSucceeded',
]);
/** What other proxies give back. Own holds tell of themselves. */
const FREES: ReadonlySet<AccountEvent['type']> = new Set(['LeaseReleased', 'LeaseNarrowed']);

interface ReloadWaitsOptions {
  readonly accounts: AccountViews;
  readonly holds: Pick<Holds, 'onFreed'>;
  readonly clock: () => number;
  /** `autoReload.waitMs` of the configuration; 0 is not at all. */
  readonly waitMs: number;
  /** Of all bodies, and of those of one account: what waits has a quarter of each at the most. */
  readonly bodies: { readonly maxBytes: number; readonly maxBytesPerAccount: number };
  /** Somebody waits for what is to be bought: it is begun now where nobody has yet. */
  readonly begin: (accountId: AccountId) => void;
  readonly timing?: Timing;
}

/** A request that was refused. */
interface Refused {
  readonly client: ReloadWait['client'];
  readonly bytes: number;
  /** It fits once what is held for others has ended. */
  readonly isOnlyHeld: boolean;
}

const BODIES_PART = 4;

/**
 * Requests for which there are no credits, while credits are being bought by themselves (auto-reload). Each waits until an event of
 * its account may have changed that, and is then decided anew by whoever asked; those of one account in the order in which they came.
 * Where the credits are there, and only held for others, the first is asked as soon as some are free again.
 */
export class ReloadWaits {
  readonly #options: ReloadWaitsOptions;
  readonly #timing: Timing;
  readonly #waiting = new Map<AccountId, Set<ReloadWait>>();
  #count = 0;
  #bytes = 0;

  constructor(options: ReloadWaitsOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
    options.holds.onFreed((accountId) => this.#freed(accountId));
    options.accounts.onFolded((accountId, event) => {
      const waits = this.#waiting.get(accountId);
      if (waits === undefined || TELLS_NOTHING.has(event.type)) return;
      if (FREES.has(event.type)) return this.#freed(accountId);
      if (this.#isInVain(accountId, event)) for (const wait of waits) wait.inVain();
      this.#wake(waits);
    });
  }

  get count(): number {
    return this.#count;
  }

  /** Null where it does not wait: nothing is being bought, too much waits already, its client has left, or nobody is to. */
  begin(accountId: AccountId, refused: Refused): ReloadWait | null {
    const { waitMs, begin } = this.#options;
    if (waitMs === 0 || refused.client.hasLeft) return null;
    if (!this.#hasRoom(accountId, refused.bytes) || !this.#isWorthwhile(accountId)) return null;
    const wait = new ReloadWait(refused, {
      waitMs,
      timing: this.#timing,
      isWorthwhile: () => this.#isWorthwhile(accountId),
      end: () => this.#end(accountId, wait),
    });
    this.#waiting.set(accountId, (this.#waiting.get(accountId) ?? new Set()).add(wait));
    this.#count++;
    this.#bytes += refused.bytes;
    begin(accountId);
    return wait;
  }

  /** Nothing is admitted any more, and whoever waits is to be told. */
  close(): void {
    for (const ofAccount of this.#waiting.values()) this.#wake(ofAccount);
  }

  /** Who waits has paid nothing for it yet: it keeps nobody out who has. */
  #hasRoom(accountId: AccountId, bytes: number): boolean {
    const { reloadWaitingMax, reloadWaitingPerAccountMax } = LIMITS;
    const { maxBytes, maxBytesPerAccount } = this.#options.bodies;
    let [count, ofAccount] = [0, bytes];
    for (const wait of this.#waiting.get(accountId) ?? []) {
      count++;
      ofAccount += wait.bytes;
    }
    if (this.#count >= reloadWaitingMax || count >= reloadWaitingPerAccountMax) return false;
    return this.#bytes + bytes <= maxBytes / BODIES_PART && ofAccount <= maxBytesPerAccount / BODIES_PART;
  }

  /** The first may fit now. Where it does, whoever is first then is asked as it ends. */
  #freed(accountId: AccountId): void {
    const waits = this.#waiting.get(accountId);
    if (waits !== undefined) [...waits].find(({ isOnlyHeld }) => isOnlyHeld)?.wake();
  }

  /** What was waited for was not paid. Another attempt, where one follows, is for who comes then. */
  #isInVain(accountId: AccountId, { type, data }: AccountEvent): boolean {
    if (type !== 'PaymentFailed' && type !== 'PaymentAbandoned') return false;
    const { state } = this.#options.accounts.read(accountId);
    return state.type === 'open' && attemptOf(state.billing.payments, data.attemptId)?.kind === 'reload';
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
    this.#bytes -= wait.bytes;
    if (ofAccount.size === 0) this.#waiting.delete(accountId);
    this.#freed(accountId);
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
  readonly bytes: number;
  /** As it was refused last. */
  isOnlyHeld: boolean;
  readonly #parts: WaitParts;
  readonly #begunMs: number;
  readonly #forgetClient: () => void;
  #change = new AbortController();
  #isInVain = false;

  constructor({ client, bytes, isOnlyHeld }: Refused, parts: WaitParts) {
    this.client = client;
    this.bytes = bytes;
    this.isOnlyHeld = isOnlyHeld;
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
