import { expect, it } from 'vitest';
import type { AccountEvent, CreditsDebited } from '../../../contracts/events.ts';
import { picoUsd } from '../../../contracts/money.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import { AccountAudit } from '../../../ledger/audit/account-audit.ts';
import { describeFault } from '../../../ledger/audit/fault.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, CARD, granted, keyIssued, lifeWith, opened, usageOf } from '../../fixtures/ledger/example-account.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';

const uses = { web_search_requests: picoUsd(7n) };
const LIFE = lifeWith([opened, keyIssued(), granted('g1', 1_000)], usageOf(1, 10));
/** The debit as it is where the usage has two searches more, with its sums. */
function withSearches(event: AccountEvent, change: (debit: CreditsDebited) => Partial<CreditsDebited>): AccountEvent {
  if (event.type === 'UsageRecorded') return { ...event, data: { ...event.data, uses: { web_search_requests: 2 } } };
  if (event.type !== 'CreditsDebited') return event;
  const { data } = event;
  const searched: CreditsDebited = {
    ...data,
    ...{ cost: picoUsd(data.cost + 14n), carryAfter: picoUsd(data.carryAfter + 14n) },
    uses: [{ use: 'web_search_requests', count: 2, rate: picoUsd(7n), cost: picoUsd(14n) }] as never,
  };
  return { ...event, data: { ...searched, ...change(searched) } };
}

function faultsOf(change: (debit: CreditsDebited) => Partial<CreditsDebited>): string[] {
  const card = { ...CARD.rates, hasFastLane: true, uses: new Map(Object.entries(uses)) };
  const audit = new AccountAudit(ACCOUNT, () => card);
  const life = LIFE.map((event) => ({ event: withSearches(event, change), atMs: Date.UTC(2026, 10, 20) }));
  for (const { data, metadata, ...event } of recordedLife(life))
    audit.take({ ...event, data: JSON.parse(data), metadata: JSON.parse(metadata) });
  audit.end();
  return audit.books.faults.map(describeFault);
}

it('finds nothing wrong with lines and uses that follow from usage and card', () => {
  expect(faultsOf(() => ({}))).toEqual([]);
});

it('has a fast lane cost twice where the card has one, and else as much', () => {
  for (const fastMultiplier of [2, null] as const) {
    const card = { ...CARD, fastMultiplier };
    const usage = usageOf(1, 10, { lane: 'fast' });
    const life = [opened, keyIssued(), granted('g1', 1_000)];
    const own = { ...CARD.rates, hasFastLane: fastMultiplier !== null, uses: new Map() };
    const audit = new AccountAudit(ACCOUNT, () => own);
    const events = [...life, ...recordUsage(fold(life) as OpenAccount, usage, card)];
    for (const { data, metadata, ...event } of recordedLife(
      events.map((one) => ({ event: one, atMs: Date.UTC(2026, 10, 20) })),
    ))
      audit.take({ ...event, data: JSON.parse(data), metadata: JSON.parse(metadata) });
    audit.end();
    expect(audit.books.faults.map(describeFault)).toEqual([]);
    expect(audit.books.debited).toBe(fastMultiplier === null ? 10n : 20n);
  }
});

it.each([
  ['lines', { tokenClass: 'input' }],
  ['lines', { tokens: 11 }],
  ['lines', { rate: picoUsd(9n) }],
  ['lines', { cost: picoUsd(9n) }],
  ['uses', { use: 'code_runs' }],
  ['uses', { count: 3 }],
  ['uses', { rate: picoUsd(9n) }],
  ['uses', { cost: picoUsd(9n) }],
] as const)('tells of %s of which this alone is another: %o', (which, change) => {
  const faults = faultsOf((debit) => ({ [which]: debit[which].map((one) => ({ ...one, ...change })) }));
  expect(faults).toEqual([expect.stringMatching(`^req_\\w+: ${which} is .* should be `)]);
});
