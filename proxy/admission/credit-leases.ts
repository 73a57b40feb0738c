import type { Logger } from 'pino';
import type { Recording } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import {
  type AccountId,
  type KeyId,
  type LeaseId,
  leaseId,
  NO_STREAM,
  type ProxyId,
  type Revision,
} from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { SYSTEM } from '../../contracts/permissions.ts';
import { type Lease, NOTHING, type OpenAccount } from '../../ledger/account/account-state.ts';
import type { AccountCommand, CommandOf } from '../../ledger/account/commands.ts';
import { executeCommand, executeOnRepository } from '../../ledger/account/execute-command.ts';
import {
  freeCredit,
  type LeaseTerms,
  leaseScope,
  leasesOfOthers,
  leftBeside,
  nextExpiry,
} from '../../ledger/account/leases.ts';
import { monthOf } from '../../ledger/account/month.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { TIMING, type Timing } from '../../ledger/timing.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import type { Claim } from '../claim/proxy-claim.ts';
import type { Holds } from '../holds.ts';
import { heldOf, heldOfMember } from './money-gate.ts';

/** A lease takes at most this part of what is free beyond what requests need at once, so that others find some, too. */
const SHARE_OF_FREE = 8n;

export interface CreditLeasesOptions {
  /** What this process has claimed; null before the log has taken it: until then it has no leases. */
  readonly claim: () => Claim | null;
  readonly log: EventLog;
  readonly accounts: AccountViews;
  readonly holds: Holds;
  readonly clock: () => number;
  /** Not while the clock is in doubt: a lease's end is written for all proxies. */
  readonly mayLease: () => boolean;
  readonly logger: Logger;
  /** The longest that a request can take from its admission to its end. */
  readonly longestRequestMs: number;
  /** Its length beyond that: one half to admit in, one to settle in, so that nothing is left when it expires. */
  readonly slackMs: number;
  /** The oldest views that a proxy admits by. */
  readonly viewsAgeMsMax: number;
  readonly timing?: Timing;
  /** After this nobody waits for a lease any more. */
  readonly waitMs: number;
}

/**
 * The lease that requests of a key come under: one a claim and account, and one for each key that a monthly limit binds, anew
 * whenever a grant expires. Leases of two claims of one name are never the same, so two processes of it cannot admit
 * against the same credit.
 */
export interface LeaseScope extends Omit<LeaseTerms, 'othersAheadMs'> {
  readonly leaseId: LeaseId;
}

/** A part of a lease on its way back. */
interface Release {
  readonly leaseId: LeaseId;
  readonly amount: MicroUsd;
  /** Of all its tries, which have the same ids by it. */
  readonly recording: Recording;
  /** Of the account, as of its last try: the event behind it tells whether that was written. */
  decidedAt: Revision;
}

/**
 * This proxy's leases on parts of accounts' free credit. With several proxies on one log each admits only within its
 * own leases, and the log decides who has leased what: together they never admit more than there is.
 *
 * A lease is an event of the account's stream. It is taken for many requests at a time; the events of settlement make it
 * smaller; what is not needed goes back (lease-upkeep.ts).
 */
export class CreditLeases {
  readonly #options: CreditLeasesOptions;
  readonly #lastUsedMs = new Map<AccountId, Map<LeaseId, number>>();
  /** What is on its way back, by account and lease: nothing may be held against it, though the view has it still. */
  readonly #givingBack = new Map<string, bigint>();
  /** Of those, what failed: it may still have been written, and is tried again until the log or the account's next event tells. */
  readonly #doubtful = new Map<AccountId, readonly Release[]>();

  constructor(options: CreditLeasesOptions) {
    this.#options = options;
    options.accounts.onFolded((accountId) => this.#forgetTold(accountId));
  }

  /** The name that this process leases under; null before the log has it. */
  get proxy(): ProxyId | null {
    return this.#options.claim()?.proxy ?? null;
  }

  /** Of this process, or of one before it that is known to have ended. */
  owns({ proxy, epoch }: Pick<Lease, 'proxy' | 'epoch'>): boolean {
    const claim = this.#options.claim();
    return claim !== null && proxy === claim.proxy && epoch >= claim.ownsFrom && epoch <= claim.epoch;
  }

  /** What others have leased of an account's credit: other proxies, and whoever else has claimed this one's name. */
  ofOthers(account: OpenAccount): Lease[] {
    return leasesOfOthers(account, (lease) => this.owns(lease), this.#options.clock());
  }

  /** @param nowMs when the request starts */
  scopeOf(account: OpenAccount, key: KeyId, nowMs: number): LeaseScope {
    const keyId = leaseScope(account, key);
    const requestsBeforeMs = nextExpiry(account, nowMs);
    const { proxy, epoch } = this.#claim;
    const ofKey = keyId === null ? '' : `_${keyId}`;
    const before = requestsBeforeMs === null ? '' : `_before_${requestsBeforeMs}`;
    const id = leaseId(`lease_${proxy}_${epoch}${ofKey}${before}`);
    return { keyId, requestsBeforeMs, proxy, epoch, leaseId: id };
  }

  /** What another request may hold under a lease now; 0 where there is none, or where it would not outlast a request. */
  room(accountId: AccountId, account: OpenAccount, scope: LeaseScope): MicroUsd {
    const { clock, holds } = this.#options;
    const nowMs = clock();
    const lease = account.leases[scope.leaseId];
    if (lease === undefined || !this.#admitsUnder(lease.expiresAtMs, nowMs)) return NOTHING;
    const byLease = lease.amount - holds.ofLease(accountId, scope.leaseId) - this.givingBack(accountId, scope.leaseId);
    // Where credit has gone that was leased before (a grant was revoked or has expired), or a limit was set since, less
    // than the lease is left.
    const beside = { leases: this.ofOthers(account), holds: heldOf(accountId, holds) };
    const left = leftBeside(account, scope.keyId, beside, nowMs);
    const month = monthOf(nowMs);
    let room = smaller(byLease, left.credit);
    if (left.ofAccountLimit !== null)
      room = smaller(room, left.ofAccountLimit - holds.ofAccountMonth(accountId, month));
    if (left.ofMemberLimit !== null && scope.keyId !== null)
      room = smaller(room, left.ofMemberLimit - heldOfMember({ accountId, account, keyId: scope.keyId }, month, holds));
    if (left.ofKeyLimit !== null && scope.keyId !== null)
      room = smaller(room, left.ofKeyLimit - holds.ofKeyMonth(accountId, scope.keyId, month));
    return microUsd(room > 0n ? room : 0n);
  }

  /** What of a lease is on its way back: it is free again soon. */
  givingBack(accountId: AccountId, id: LeaseId): bigint {
    return this.#givingBack.get(`${accountId} ${id}`) ?? 0n;
  }

  /** What upkeep goes by: a lease that nothing has been admitted under for a while is given back. */
  used(accountId: AccountId, { leaseId }: LeaseScope): void {
    const ofAccount = this.#lastUsedMs.get(accountId) ?? new Map<LeaseId, number>();
    ofAccount.set(leaseId, this.#options.clock());
    this.#lastUsedMs.set(accountId, ofAccount);
  }

  lastUsedMs(accountId: AccountId, id: LeaseId): number {
    return this.#lastUsedMs.get(accountId)?.get(id) ?? 0;
  }

  /** This proxy has no lease in the account any more. */
  forget(accountId: AccountId): void {
    this.#lastUsedMs.delete(accountId);
  }

  /** What could be leased now. */
  free(account: OpenAccount, scope: Omit<LeaseScope, 'leaseId'>): MicroUsd {
    return freeCredit(account, { ...scope, othersAheadMs: this.#othersAheadMs }, this.#options.clock());
  }

  /** What a lease should have in hand beyond its holds: a share of what is free, which many requests then use. */
  share(account: OpenAccount, scope: Omit<LeaseScope, 'leaseId'>): MicroUsd {
    return microUsd(this.free(account, scope) / SHARE_OF_FREE);
  }

  /**
   * Leases what requests need beyond the room there is, and a share of what is free on top; less where less is free.
   * The account's view has it when this resolves. @throws EventLogError when the log does not answer.
   */
  async extend(accountId: AccountId, account: OpenAccount, scope: LeaseScope, need: MicroUsd): Promise<void> {
    const missing = need - this.room(accountId, account, scope);
    const share = this.share(account, scope);
    await this.#execute(accountId, this.#leaseCommand(scope, microUsd(missing > share ? missing : share)));
  }

  /** Gives a lease a new expiry, where it still stands. @throws EventLogError */
  async renew(accountId: AccountId, scope: LeaseScope): Promise<void> {
    await this.#execute(accountId, this.#leaseCommand(scope, NOTHING));
  }

  /**
   * The same of an account that an operator has parked here, whose view stands still: by the account as the log has it.
   * @throws EventLogError; AsideReason
   */
  async renewParked(accountId: AccountId, scope: LeaseScope): Promise<void> {
    const { log, timing = TIMING } = this.#options;
    const command = this.#leaseCommand(scope, NOTHING);
    const result = await executeCommand(log, accountId, command, SYSTEM, this.#recording(), { timing });
    if (result.type === 'refused') throw new Error(`${accountId}: ${result.message}`);
  }

  /** When a lease ends that is made or renewed at an instant. */
  endOfLease(nowMs: number): number {
    const { longestRequestMs, slackMs } = this.#options;
    return nowMs + longestRequestMs + slackMs;
  }

  /**
   * Says what requests of a key from before its limit still hold under a lease, so that the rest counts against the limit
   * no more. What they hold is looked up for the very revision at which it is written. @throws EventLogError
   */
  async narrow(accountId: AccountId, id: LeaseId, keyId: KeyId): Promise<void> {
    const { holds } = this.#options;
    await this.#execute(accountId, () => {
      const atMost = holds.ofKeyLease(accountId, keyId, id);
      return { type: 'NarrowLease', leaseId: id, keyId, atMost };
    });
  }

  /** From now on nothing is held against the amount, whenever the log has it back. @throws EventLogError */
  async release(accountId: AccountId, id: LeaseId, amount: MicroUsd): Promise<void> {
    const release = { leaseId: id, amount, recording: this.#recording(), decidedAt: NO_STREAM };
    this.#changeGivingBack(accountId, id, amount);
    await this.#tryRelease(accountId, release);
  }

  /** Whether something was given back that may or may not have been written. */
  isInDoubt(accountId: AccountId): boolean {
    return this.#doubtful.has(accountId);
  }

  /** Tries what is in doubt again, as it was: so it is written once, whatever became of the tries before. @throws EventLogError */
  async repeatReleases(accountId: AccountId): Promise<void> {
    for (;;) {
      const [first, ...others] = this.#doubtful.get(accountId) ?? [];
      if (first === undefined) return;
      this.#setDoubtful(accountId, others);
      await this.#tryRelease(accountId, first);
    }
  }

  async #tryRelease(accountId: AccountId, release: Release): Promise<void> {
    const { leaseId, amount, recording } = release;
    const command = (): AccountCommand => {
      release.decidedAt = this.#options.accounts.read(accountId).revision;
      return { type: 'ReleaseLease', leaseId, amount };
    };
    try {
      await this.#execute(accountId, command, recording);
    } catch (error) {
      this.#setDoubtful(accountId, [...(this.#doubtful.get(accountId) ?? []), release]);
      // The event that tells may have come between two of its tries.
      this.#forgetTold(accountId);
      throw error;
    }
    this.#changeGivingBack(accountId, leaseId, -amount);
  }

  /** What was decided before the account's last event is in the view, or was not written and never will be. */
  #forgetTold(accountId: AccountId): void {
    const doubtful = this.#doubtful.get(accountId);
    if (doubtful === undefined) return;
    const { revision } = this.#options.accounts.read(accountId);
    this.#setDoubtful(
      accountId,
      doubtful.filter(({ decidedAt }) => decidedAt >= revision),
    );
    for (const { leaseId, amount, decidedAt } of doubtful)
      if (decidedAt < revision) this.#changeGivingBack(accountId, leaseId, -amount);
  }

  #setDoubtful(accountId: AccountId, releases: readonly Release[]): void {
    if (releases.length === 0) this.#doubtful.delete(accountId);
    else this.#doubtful.set(accountId, releases);
  }

  #changeGivingBack(accountId: AccountId, id: LeaseId, difference: bigint): void {
    const name = `${accountId} ${id}`;
    const sum = (this.#givingBack.get(name) ?? 0n) + difference;
    if (sum === 0n) this.#givingBack.delete(name);
    else this.#givingBack.set(name, sum);
  }

  /** Whether more than half of the time in which a lease admits is over. */
  isAgeing(expiresAtMs: number): boolean {
    const { clock, longestRequestMs, slackMs } = this.#options;
    return clock() > expiresAtMs - longestRequestMs - (slackMs * 3) / 4;
  }

  #admitsUnder(expiresAtMs: number, nowMs: number): boolean {
    const { longestRequestMs, slackMs } = this.#options;
    return nowMs + longestRequestMs + slackMs / 2 < expiresAtMs;
  }

  get #claim(): Claim {
    const claim = this.#options.claim();
    if (claim === null) throw new Error('a lease is asked for without a claim');
    return claim;
  }

  /** By its clock, of which the slack covers what two may differ by (contracts/lease-slack.ts), and by views that lag. */
  get #othersAheadMs(): number {
    const { slackMs, viewsAgeMsMax } = this.#options;
    return slackMs / 2 + viewsAgeMsMax;
  }

  #leaseCommand({ leaseId, keyId, requestsBeforeMs }: LeaseScope, upTo: MicroUsd): CommandOf<'LeaseCredits'> {
    const { clock, mayLease } = this.#options;
    if (!mayLease()) throw new Error('nothing is leased by a clock that is in doubt');
    const { proxy, epoch } = this.#claim;
    const nowMs = clock();
    const expiresAtMs = this.endOfLease(nowMs);
    const terms = { proxy, leaseId, epoch, keyId, requestsBeforeMs, othersAheadMs: this.#othersAheadMs };
    return { type: 'LeaseCredits', ...terms, upTo, expiresAtMs, nowMs };
  }

  #recording(): Recording {
    return recordingBy(this.#claim.proxy, this.#options.clock());
  }

  async #execute(
    accountId: AccountId,
    command: AccountCommand | (() => AccountCommand),
    recording = this.#recording(),
  ): Promise<void> {
    const { log, accounts, timing = TIMING, waitMs } = this.#options;
    const untilMs = timing.passedMs() + waitMs;
    // What nobody waits for would take the log's places from those who ask whether it is back.
    const isWanted = (): boolean => timing.passedMs() < untilMs;
    const result = await executeOnRepository(log, accounts, accountId, command, SYSTEM, recording, {
      timing,
      isWanted,
    });
    if (result.type === 'refused') throw new Error(`${accountId}: ${result.message}`);
  }
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
