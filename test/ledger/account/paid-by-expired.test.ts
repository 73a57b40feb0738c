import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountId, keyId, requestId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { Grant, OpenAccount } from '../../../ledger/account/account-state.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import { paidByExpired, type StartedHold } from '../../../ledger/account/paid-by-expired.ts';
import { heldOfCredits } from '../../../proxy/admission/money-gate.ts';
import { Holds } from '../../../proxy/holds.ts';
import {
  anyGrants,
  anyRequests,
  grant,
  hold,
  LAST_MS,
  settle,
  sorted,
  type UnderWay,
  worstUncovered,
} from './grants-under-way.ts';

const paid = (grants: readonly Grant[], holds: readonly StartedHold[], nowMs: number) =>
  paidByExpired(sorted(grants), holds, nowMs);

describe('what an expired grant will pay', () => {
  const soon = grant('soon', 10, { expiresAtMs: 50 });
  const never = grant('never', 10);

  it('is nothing before it has expired', () => {
    expect(paid([soon, never], [hold(8, 40)], 49)).toBe(0n);
  });

  it('is what requests hold that started before, at most what it has', () => {
    expect(paid([soon, never], [hold(8, 40)], 50)).toBe(8n);
    expect(paid([soon, never], [hold(8, 40), hold(7, 49)], 50)).toBe(10n);
  });

  it('is nothing for a request that started at its expiry or after', () => {
    expect(paid([soon, never], [hold(8, 50), hold(3, 60)], 70)).toBe(0n);
  });

  it('is only what is beyond the grants that burn before it', () => {
    const first = grant('first', 5, { priority: 1 });
    expect(paid([soon, first], [hold(8, 40)], 50)).toBe(3n);
    expect(paid([soon, grant('first', 9, { priority: 1 })], [hold(8, 40)], 50)).toBe(0n);
  });

  it('is nothing where it was not there yet when the request started', () => {
    expect(paid([grant('soon', 10, { effectiveAtMs: 41, expiresAtMs: 50 }), never], [hold(8, 40)], 50)).toBe(0n);
  });

  it('leaves that much of what can be spent now to the others', () => {
    const holds = new Holds();
    const account = accountId('acct');
    holds.place(requestId('req_1'), {
      accountId: account,
      keyId: keyId('key'),
      month: '1970-01',
      amount: microUsd(8n),
      leaseId: null,
      startedAtMs: 40,
    });
    const state = { grants: sorted([soon, never]) } as unknown as OpenAccount;
    expect([49, 50].map((nowMs) => heldOfCredits(account, state, holds, nowMs))).toEqual([8n, 0n]);
    holds.release(requestId('req_1'));
    expect([...holds.each(account)]).toEqual([]);
  });
});

it('a gate that does not count what expired grants will pay never admits what could stay uncovered, in any order and at any cost', () => {
  let more = 0;
  fc.assert(
    fc.property(anyGrants, anyRequests, (first, requests) => {
      let grants: readonly Grant[] = first;
      let nowMs = 0;
      let underWay: (UnderWay & { cost: bigint; settlesAt: number })[] = [];
      for (const [index, request] of requests.entries()) {
        nowMs = Math.min(LAST_MS, nowMs + request.afterMs);
        for (const done of underWay.filter(({ settlesAt }) => settlesAt <= index)) {
          const after = settle(grants, { ...done, finishedAtMs: Math.min(done.finishedAtMs, nowMs) }, done.cost);
          expect(after.uncovered).toBe(0n);
          grants = after.grants;
        }
        underWay = underWay.filter(({ settlesAt }) => settlesAt > index);
        const held = underWay.reduce((sum, { amount }) => sum + amount, 0n);
        const usable = usableCredits(grants, nowMs);
        const need = BigInt(request.amount);
        if (need > usable - held + paidByExpired(grants, underWay, nowMs)) continue;
        if (need > usable - held) more += 1;
        const { settles } = request;
        const cost = BigInt(Math.min(settles?.cost ?? 0, request.amount));
        const settlesAt = settles === null ? 99 : index + 1 + settles.after;
        const instants = { startedAtMs: nowMs, finishedAtMs: nowMs + request.lastsMs };
        underWay.push({ ...hold(request.amount, nowMs), ...instants, cost, settlesAt });
        if (underWay.length < 4) expect(worstUncovered(grants, underWay)).toBe(0n);
      }
    }),
    { numRuns: 3_000 },
  );
  expect(more).toBeGreaterThan(20);
});
