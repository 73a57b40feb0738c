import pino from 'pino';
import { expect } from 'vitest';
import { decodeEvent, encodeEvents } from '../../../contracts/event-codec.ts';
import { type AccountEvent, isAccountEvent } from '../../../contracts/events.ts';
import { accountOfStream, accountStream, commandId, proxyId, requestId } from '../../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../../contracts/money.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { LogBreaker } from '../../../ledger/log-breaker.ts';
import { toldLog } from '../../../ledger/told-log.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { CreditFleet } from '../../../proxy/admission/credit-fleet.ts';
import type { LeaseWait } from '../../../proxy/admission/lease-queue.ts';
import { Holds } from '../../../proxy/holds.ts';
import { ACCOUNT, granted, KEY, keyIssued, ms, opened } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { runningTime } from '../../fixtures/ledger/running-time.ts';

const LONGEST_REQUEST_MS = 60_000;
export const SLACK_MS = 40_000;
export const RECLAIM_MS = 3_000;
const WAIT_MS = 60_000;
export const CREDIT = 99n;

/** Of all waits here: it goes on as soon as nothing else is to be done. */
export const time = runningTime();

/** What the proxies of a test have in common. */
export const scene = {
  log: new MemoryEventLog(),
  nowMs: ms('2026-11-06T12:00:00.000Z'),
  mayLease: true,
  breaker: breakerOfScene(),
  /** What its proxies have logged. */
  lines: [] as { readonly level: number; readonly msg: string }[],
};
function breakerOfScene(): LogBreaker {
  return new LogBreaker({ clock: () => scene.nowMs, timing: time });
}
let proxies: Proxy[] = [];

interface Proxy {
  readonly fleet: CreditFleet;
  readonly holds: Holds;
  readonly views: AccountViews;
  account(): OpenAccount;
  /** Holds a request, waiting for a lease where one is needed. */
  hold(name: string, need: bigint, client?: LeaseWait['client']): Promise<string>;
  release(name: string): void;
}

export function startProxy(name: string, { keepsUp = true, waitMs = WAIT_MS, epoch = 1, ownsFrom = 1 } = {}): Proxy {
  const views = new AccountViews();
  const holds = new Holds();
  scene.log.subscribeAll({
    after: null,
    onEvents: (events) => {
      for (const recorded of events) {
        const event = decodeEvent(recorded);
        const accountId = accountOfStream(recorded.stream);
        // As projections do: of an account that is set aside nothing is folded.
        if (accountId === null || views.whyAside(accountId) !== null) continue;
        if (isAccountEvent(event)) views.fold(accountId, recorded.revision, event);
      }
    },
  });
  const fleet = new CreditFleet({
    claim: () => ({ proxy: proxyId(name), epoch, ownsFrom, takenOverAtMs: null }),
    log: toldLog(scene.log, scene.breaker),
    accounts: views,
    holds,
    clock: () => scene.nowMs,
    logger: pino({ level: 'debug' }, { write: (line: string) => scene.lines.push(JSON.parse(line)) }),
    longestRequestMs: LONGEST_REQUEST_MS,
    slackMs: SLACK_MS,
    viewsAgeMsMax: 0,
    reclaimMs: RECLAIM_MS,
    waitMs,
    breaker: scene.breaker,
    timing: time,
    mayLease: () => scene.mayLease,
  });
  if (keepsUp) fleet.upkeep.start();
  const account = (): OpenAccount => {
    const { state } = views.read(ACCOUNT);
    if (state.type === 'unopened') throw new Error('the account is not there yet');
    return state;
  };
  const hold = (request: string, amount: bigint, client = STAYS): Promise<string> => {
    const need: MicroUsd = microUsd(amount);
    const tryHold = (): boolean => {
      const scope = fleet.leases.scopeOf(account(), KEY, scene.nowMs);
      if (!fleet.takeRoom(ACCOUNT, account(), scope, need)) return false;
      const { leaseId } = scope;
      const startedAtMs = scene.nowMs;
      const held = { accountId: ACCOUNT, keyId: KEY, month: '2026-11', amount: need, leaseId, startedAtMs };
      holds.place(requestId(request), held);
      return true;
    };
    return tryHold() ? Promise.resolve('held') : fleet.queue.whenHeld(ACCOUNT, { keyId: KEY, need, client, tryHold });
  };
  const proxy = { fleet, holds, views, account, hold, release: (one: string) => holds.release(requestId(one)) };
  proxies.push(proxy);
  return proxy;
}

/** A client that waits for as long as it takes. */
const STAYS: LeaseWait['client'] = { hasLeft: false, onceLeft: () => () => undefined };

let writes = 0;
export function write(...events: readonly AccountEvent[]): void {
  const command = commandId(`019a5b3c-7777-7000-8000-${(++writes).toString(16).padStart(8, '0')}0000`);
  const recording = { commandId: command, actor: 'test', recordedAt: '2026-11-06T12:00:00.000Z' };
  scene.log.write(accountStream(ACCOUNT), encodeEvents(events, recording));
}

/** One that gives nothing back by itself. */
export async function startWithoutUpkeep(name = 'proxy_1', waitMs = WAIT_MS): Promise<Proxy> {
  if (scene.log.events.length === 0) write(opened, keyIssued(), granted('g1', Number(CREDIT)));
  const proxy = startProxy(name, { keepsUp: false, waitMs });
  await converged(proxy);
  return proxy;
}

export async function start<const N extends readonly string[]>(...names: N): Promise<{ [I in keyof N]: Proxy }> {
  write(opened, keyIssued(), granted('g1', Number(CREDIT)));
  const started = names.map((name) => startProxy(name));
  await Promise.all(started.map((proxy) => converged(proxy)));
  return started as { [I in keyof N]: Proxy };
}

/** Upkeep may write meanwhile. */
export const converged = ({ views }: Proxy) => expect.poll(() => lastRevision() - views.read(ACCOUNT).revision).toBe(0);

export const lastRevision = (): number =>
  scene.log.events.filter(({ stream }) => stream === accountStream(ACCOUNT)).length - 1;

/** @param level `debug` or `warn` */
export const linesOf = (level: 'debug' | 'warn'): string[] =>
  scene.lines.filter((line) => line.level === pino.levels.values[level]).map(({ msg }) => msg);

/** However long it takes until others have given back, or said what they hold. */
export async function held(proxy: Proxy, name: string, need: bigint): Promise<void> {
  let tries = 0;
  await expect.poll(() => proxy.hold(`${name}-${++tries}`, need)).toBe('held');
}

export const leasedBy = ({ account }: Proxy): bigint[] => Object.values(account().leases).map(({ amount }) => amount);

/** After each test: what it has left ends, and the next one begins with an empty log. */
export async function clearScene(): Promise<void> {
  scene.log.faults = () => ({ type: 'none' });
  await Promise.all(proxies.map(({ fleet }) => fleet.upkeep.close()));
  await scene.log.close();
  proxies = [];
  scene.log = new MemoryEventLog();
  scene.breaker = breakerOfScene();
  scene.lines = [];
  scene.mayLease = true;
}
