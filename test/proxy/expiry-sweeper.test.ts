import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { grantId, keyId, leaseId, proxyId, requestIdFromUuid } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { microUsd } from '../../contracts/money.ts';
import { Holds } from '../../proxy/admission/holds.ts';
import { ExpirySweeper } from '../../proxy/expiry-sweeper.ts';
import { startTestGateway, type TestGateway } from '../gateway/start-gateway.ts';

const BORN_MS = Date.parse('2026-11-21T12:00:00.000Z');
const EXPIRES_MS = BORN_MS + 60_000;
const LATE_MS = LIMITS.expiryLateMs;
const REQUEST = requestIdFromUuid('019a5b3c-0000-7000-8000-00000000000a');

let nowMs: number;
let mayWrite: boolean;
let gateway: TestGateway;
let holds: Holds;
let sweeper: ExpirySweeper;

beforeEach(async () => {
  nowMs = BORN_MS;
  mayWrite = true;
  const clock = () => nowMs;
  gateway = await startTestGateway({ clock });
  await gateway.command({
    type: 'GrantCredits',
    grantId: grantId('grant_short'),
    source: 'promotion',
    amount: microUsd(7n),
    costBasis: microUsd(0n),
    priority: 1,
    effectiveAtMs: nowMs,
    expiresAtMs: EXPIRES_MS,
  });
  holds = new Holds();
  sweeper = new ExpirySweeper({
    log: gateway.log,
    accounts: gateway.gateway.projections.accounts,
    holds,
    clock,
    lateMs: LATE_MS,
    mayWrite: () => mayWrite,
    logger: pino({ level: 'silent' }),
  });
});
afterEach(async () => {
  await sweeper.close();
  await gateway.stop();
});

const expired = async () => (await gateway.events()).filter((event) => event.type === 'CreditsExpired');
const WRITTEN = {
  type: 'CreditsExpired',
  data: { grantId: 'grant_short', amount: 7n, expiredAt: '2026-11-21T12:01:00.000Z' },
};

describe('expired credits', () => {
  it('are written down once, a week late', async () => {
    nowMs = EXPIRES_MS + LATE_MS - 1;
    expect(await sweeper.sweep()).toBe(0);
    nowMs += 1;
    expect(await sweeper.sweep()).toBe(1);
    expect(await sweeper.sweep()).toBe(0);
    expect(await expired()).toEqual([WRITTEN]);
  });

  it('are not written down while nothing final may be', async () => {
    nowMs = EXPIRES_MS + LATE_MS;
    mayWrite = false;
    expect(await sweeper.sweep()).toBe(0);
    expect(await expired()).toEqual([]);
    mayWrite = true;
    expect(await sweeper.sweep()).toBe(1);
  });

  it('are not written down while a request of the account is under way here', async () => {
    const { accountId } = gateway;
    holds.place(REQUEST, {
      accountId,
      keyId: keyId('k'),
      month: '2026-11',
      amount: microUsd(1n),
      leaseId: null,
      startedAtMs: 0,
    });
    nowMs = EXPIRES_MS + LATE_MS;
    expect(await sweeper.sweep()).toBe(0);
    holds.release(REQUEST);
    expect(await sweeper.sweep()).toBe(1);
  });

  it('are not written down while a proxy has a lease in the account', async () => {
    const lease = { proxy: proxyId('gw-2'), leaseId: leaseId('lease_gw-2'), epoch: 1, keyId: null, upTo: microUsd(5n) };
    nowMs = EXPIRES_MS + LATE_MS;
    await gateway.command({ type: 'LeaseCredits', ...lease, expiresAtMs: nowMs + 1_000, nowMs });
    expect(await sweeper.sweep()).toBe(0);
    nowMs += 1_000;
    expect(await sweeper.sweep()).toBe(0);
    nowMs += LATE_MS;
    expect(await sweeper.sweep()).toBe(1);
  });
});
