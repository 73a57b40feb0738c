import fc from 'fast-check';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { UsageRecorded } from '../../../contracts/events.ts';
import { accountStream, commandId, type KeyId, keyId, type LeaseId, proxyId, uuidV7 } from '../../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../../contracts/money.ts';
import { catchUpAccount, foldAppended } from '../../../ledger/account/account-repository.ts';
import type { Lease, OpenAccount } from '../../../ledger/account/account-state.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { activeLeases, setAsideForKey, setAsideForMember, sumOfLeases } from '../../../ledger/account/leases.ts';
import { loadAccount } from '../../../ledger/account/load-account.ts';
import { monthOf } from '../../../ledger/account/month.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import { monthOfSpend, spentByKey } from '../../../ledger/account/spend.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { CreditLeases } from '../../../proxy/admission/credit-leases.ts';
import { refuseByMoney, takenByHolds } from '../../../proxy/admission/money-gate.ts';
import { Holds } from '../../../proxy/holds.ts';
import { OPERATOR } from '../../fixtures/ledger/actors.ts';
import {
  ACCOUNT,
  CARD,
  granted,
  KEY,
  keyIssued,
  ms,
  OTHER_KEY,
  requestOf,
  usageOf,
} from '../../fixtures/ledger/example-account.ts';
import { BEN, memberAdded, organization } from '../../fixtures/ledger/example-organization.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';

/** Near a month's end, so that lives cross it. */
const BIRTH_MS = ms('2026-11-30T23:59:00.000Z');
const CREDIT = 300;
/** Two of a member's, and one of the owner's. */
const OWNERS_KEY = keyId('key_owner');
const KEYS = [KEY, OTHER_KEY, OWNERS_KEY] as const;
/** Null is the account. */
type Scope = KeyId | typeof BEN | null;
const PROXIES = [0, 1, 2] as const;
/** Leases outlast every life here: what becomes of those that end is tested with the leases. */
const TIMES = { longestRequestMs: 3_600_000, slackMs: 3_600_000, viewsAgeMsMax: 0, waitMs: 60_000 };

const proxy = fc.constantFrom(...PROXIES);
const key = fc.constantFrom(...KEYS);
const amount = fc.integer({ min: 1, max: 60 });
const step = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      type: fc.constant('admit' as const),
      proxy,
      key,
      need: fc.integer({ min: 1, max: 20 }),
      asksForLease: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('extend' as const), proxy, key, need: amount }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('finish' as const), proxy, part: fc.integer({ min: 0, max: 100 }) }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('settle' as const), proxy }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('fold' as const), proxy, events: fc.integer({ min: 1, max: 6 }) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('narrow' as const), proxy }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('release' as const), proxy }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('limit' as const),
      of: fc.constantFrom<Scope>(...KEYS, BEN, BEN, null),
      limit: fc.option(fc.integer({ min: 0, max: 150 }), { freq: 4 }),
      mode: fc.constantFrom('hard', 'hard', 'hard', 'soft'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('wait' as const), forMs: fc.integer({ min: 1, max: 20_000 }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface Request {
  readonly usage: UsageRecorded;
  readonly hold: MicroUsd;
  readonly leaseId: LeaseId;
}

/** One proxy: it knows of the log what it has folded, and folds when the life says so, or when it writes. */
class FleetProxy {
  readonly views = new AccountViews();
  readonly holds = new Holds();
  readonly leases: CreditLeases;
  readonly underWay: Request[] = [];
  readonly finished: Request[] = [];
  readonly #life: Life;

  constructor(life: Life, index: number) {
    this.#life = life;
    this.leases = new CreditLeases({
      claim: () => ({ proxy: proxyId(`proxy_${index}`), epoch: 1, ownsFrom: 1, takenOverAtMs: null }),
      log: life.log,
      accounts: this.views,
      holds: this.holds,
      mayLease: () => true,
      clock: () => life.nowMs,
      logger: pino({ level: 'silent' }),
      ...TIMES,
    });
  }

  get account(): OpenAccount {
    return open(this.views.read(ACCOUNT).state);
  }

  /** As admit.ts does it: the money gate, then the room under the lease, then the hold. */
  admit(keyId: KeyId, need: MicroUsd): boolean {
    const { nowMs } = this.#life;
    const request = {
      accountId: ACCOUNT,
      account: this.account,
      keyId,
      maxTokens: 1,
      nowMs,
      fieldBehind: null,
      takenAsWorst: false,
      fewerUses: null,
      mayBeCounted: false,
      betaBehind: null,
    };
    const worst = { hold: need, input: microUsd(0n), outputRate: 1n };
    const asked = { ...request, worst } as unknown as Parameters<typeof takenByHolds>[0];
    if (refuseByMoney(asked, this.views, takenByHolds(asked, this.holds)) !== null) return false;
    const scope = this.leases.scopeOf(this.account, keyId, nowMs);
    if (need > this.leases.room(ACCOUNT, this.account, scope)) return false;
    const number = this.#life.nextNumber();
    const { leaseId } = scope;
    this.holds.place(requestOf(number), {
      accountId: ACCOUNT,
      keyId,
      month: monthOf(nowMs),
      amount: need,
      leaseId,
      startedAtMs: nowMs,
    });
    const at = new Date(nowMs).toISOString();
    const usage = usageOf(number, Number(need), { keyId, startedAt: at, finishedAt: at, hold: need });
    this.underWay.push({ usage, hold: need, leaseId });
    return true;
  }

  finish(part: number): void {
    const request = this.underWay.shift();
    if (request === undefined) return;
    const cost = (request.hold * BigInt(part)) / 100n;
    this.holds.lower(request.usage.requestId, microUsd(cost));
    const tokens = { ...request.usage.tokens, output: Number(cost) };
    this.finished.push({ ...request, usage: { ...request.usage, tokens } });
  }

  async settle(): Promise<void> {
    const { log } = this.#life;
    const request = this.finished.shift();
    if (request === undefined) return;
    await catchUpAccount(log, this.views, ACCOUNT);
    const { revision } = this.views.read(ACCOUNT);
    const events = recordUsage(this.account, request.usage, CARD, request.leaseId);
    const result = await log.append(accountStream(ACCOUNT), revision, encodeEvents(events, this.#life.recording()));
    expect(result.type).toBe('appended');
    foldAppended(this.views, ACCOUNT, revision, events);
    this.holds.release(request.usage.requestId);
  }

  async narrow(): Promise<void> {
    for (const { leaseId, beforeLimit } of this.#ownLeases())
      for (const keyId of Object.keys(beforeLimit)) await this.leases.narrow(ACCOUNT, leaseId, keyId as KeyId);
  }

  async release(): Promise<void> {
    for (const { leaseId, amount: leased } of this.#ownLeases()) {
      const surplus = leased - this.holds.ofLease(ACCOUNT, leaseId);
      if (surplus > 0n) await this.leases.release(ACCOUNT, leaseId, microUsd(surplus));
    }
  }

  #ownLeases(): Lease[] {
    return Object.values(this.account.leases).filter((lease) => this.leases.owns(lease));
  }

  heldOf(scope: Scope, month: string): bigint {
    if (scope === null) return this.holds.ofAccountMonth(ACCOUNT, month);
    const keys = scope === BEN ? [KEY, OTHER_KEY] : [scope];
    return keys.reduce((sum, one) => sum + this.holds.ofKeyMonth(ACCOUNT, one, month), 0n);
  }
}

/** A limit in force: what was spent by month when it was set, and what the command has said may still be spent. */
interface LimitInForce {
  readonly limit: bigint;
  readonly revision: number;
  readonly spentThen: (month: string) => bigint;
  readonly setAside: bigint;
}

class Life {
  readonly log = new MemoryEventLog();
  readonly proxies = PROXIES.map((index) => new FleetProxy(this, index));
  readonly limits = new Map<Scope, LimitInForce>();
  nowMs = BIRTH_MS;
  /** Requests that were admitted in the knowledge of a limit. */
  admittedWithin = 0;
  #numbers = 0;

  constructor() {
    const other = keyIssued({ keyId: OTHER_KEY, sha256: 'b4'.repeat(32), member: BEN });
    const owners = keyIssued({ keyId: OWNERS_KEY, sha256: 'c5'.repeat(32) });
    const birth = [organization, memberAdded(), keyIssued({ member: BEN }), other, owners, granted('g1', CREDIT)];
    this.log.write(accountStream(ACCOUNT), encodeEvents(birth, this.recording()));
  }

  nextNumber(): number {
    return ++this.#numbers;
  }

  recording() {
    const random = new Uint8Array(10);
    new DataView(random.buffer).setUint32(2, ++this.#numbers);
    const id = commandId(uuidV7(this.nowMs, random));
    return { commandId: id, actor: 'test', recordedAt: new Date(this.nowMs).toISOString() };
  }

  async take(one: Step): Promise<void> {
    if (one.type === 'wait') {
      this.nowMs += one.forMs;
      return;
    }
    if (one.type === 'limit') return this.setLimit(one);
    const actor = this.proxies[one.proxy];
    if (actor === undefined) throw new Error('a proxy');
    if (one.type === 'fold') return this.fold(actor, one.events);
    if (one.type === 'admit') return this.admit(actor, one);
    if (one.type === 'finish') return actor.finish(one.part);
    if (one.type === 'settle') return actor.settle();
    if (one.type === 'narrow') return actor.narrow();
    if (one.type === 'release') return actor.release();
    const scope = actor.leases.scopeOf(actor.account, one.key, this.nowMs);
    await actor.leases.extend(ACCOUNT, actor.account, scope, microUsd(BigInt(one.need)));
  }

  async fold({ views }: FleetProxy, count: number): Promise<void> {
    const last = views.read(ACCOUNT).revision + count;
    const limited = { readStream: this.log.readStream.bind(this.log) };
    const upTo = async function* (...args: Parameters<typeof limited.readStream>) {
      for await (const event of limited.readStream(...args)) if (event.revision <= last) yield event;
    };
    await catchUpAccount({ readStream: upTo } as never, views, ACCOUNT);
  }

  async admit(actor: FleetProxy, { key: keyId, need, asksForLease }: Extract<Step, { type: 'admit' }>): Promise<void> {
    const hold = microUsd(BigInt(need));
    if (!actor.admit(keyId, hold)) {
      if (!asksForLease) return;
      const scope = actor.leases.scopeOf(actor.account, keyId, this.nowMs);
      await actor.leases.extend(ACCOUNT, actor.account, scope, hold);
      if (!actor.admit(keyId, hold)) return;
    }
    const account = await this.account();
    const month = monthOf(this.nowMs);
    const scopes: readonly Scope[] = keyId === OWNERS_KEY ? [null, keyId] : [null, BEN, keyId];
    for (const scope of scopes) {
      const inForce = this.limits.get(scope);
      if (inForce === undefined || actor.views.read(ACCOUNT).revision < inForce.revision) continue;
      this.admittedWithin++;
      const held = this.proxies.reduce((sum, one) => sum + one.heldOf(scope, month), 0n);
      expect(spent(account, scope, month) + held <= inForce.limit, 'what is admitted fits the limit').toBe(true);
    }
  }

  /** As `gateway limit set` does it. */
  async setLimit({ of: scope, limit, mode }: Extract<Step, { type: 'limit' }>): Promise<void> {
    const of = scope === BEN ? { keyId: null, member: BEN } : { keyId: scope };
    const value = limit === null ? null : microUsd(BigInt(limit));
    const done = await executeCommand(
      this.log,
      ACCOUNT,
      { type: 'SetSpendLimit', ...of, limit: value, mode, nowMs: this.nowMs },
      OPERATOR,
      this.recording(),
    );
    if (done.type === 'refused') throw new Error(done.message);
    const account = await this.account();
    const leases = activeLeases(account, this.nowMs);
    const setAside = setAsideIn(account, scope, leases);
    // A soft one binds nobody.
    if (value === null || mode === 'soft') this.limits.delete(scope);
    else {
      const spentThen = (month: string): bigint => spent(account, scope, month);
      this.limits.set(scope, { limit: value, revision: done.revision, spentThen, setAside });
    }
  }

  async expectLimitsHold(): Promise<void> {
    const account = await this.account();
    expect(account.uncovered).toBe(0n);
    for (const [scope, { limit, spentThen, setAside }] of this.limits)
      for (const month of Object.keys(account.spend.months)) {
        const before = spentThen(month) + setAside;
        expect(spent(account, scope, month) <= (before > limit ? before : limit), `${scope} in ${month}`).toBe(true);
      }
  }

  async account(): Promise<OpenAccount> {
    return open((await loadAccount(this.log, ACCOUNT)).state);
  }
}

function setAsideIn(account: OpenAccount, scope: Scope, leases: readonly Lease[]): bigint {
  if (scope === null) return sumOfLeases(leases);
  return scope === BEN ? setAsideForMember(account, BEN, leases) : setAsideForKey(account, scope, leases);
}

function spent({ spend }: OpenAccount, scope: Scope, month: string): bigint {
  const of = monthOfSpend(spend, month);
  if (scope === null) return of.account;
  const keys = scope === BEN ? [KEY, OTHER_KEY] : [scope];
  return keys.reduce((sum, one) => sum + spentByKey(of, one), 0n);
}

function open(state: ReturnType<AccountViews['read']>['state']): OpenAccount {
  if (state.type === 'unopened') throw new Error('the account is not there yet');
  return state;
}

describe('invariant 18: limits that are set while several proxies admit, each knowing of the log what it has folded so far', () => {
  it('are passed by no more than the command has said, and by nothing that was admitted in their knowledge', async () => {
    let admitted = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 80, size: 'max' }), async (steps) => {
        const life = new Life();
        for (const one of life.proxies) await life.fold(one, 10);
        for (const one of steps) {
          await life.take(one);
          await life.expectLimitsHold();
        }
        for (const one of life.proxies) {
          while (one.underWay.length > 0) one.finish(100);
          while (one.finished.length > 0) await one.settle();
        }
        await life.expectLimitsHold();
        await life.log.close();
        admitted += life.admittedWithin;
      }),
      { numRuns: 150 },
    );
    expect(admitted).toBeGreaterThan(50);
  });
});
