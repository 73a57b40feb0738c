import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { type Revision, revision } from '../../../contracts/ids.ts';
import { INITIAL_ACCOUNT } from '../../../ledger/account/account-state.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { Statement, type StatementLine } from '../../../ledger/statement/statement.ts';
import { ACCOUNT, granted, keyIssued, lifeWith, opened, usageOf } from '../../fixtures/ledger/example-account.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';
import { live, lives } from '../../fixtures/ledger/random-life.ts';
import { storedLife } from './stored-life.ts';

const statementOf = (events: readonly RecordedEvent[], withAll = false) => {
  const statement = new Statement(ACCOUNT, { withAll });
  const lines = [...events.flatMap((event) => statement.take(event)), ...statement.end()];
  return { statement, lines };
};
const told = (lines: readonly StatementLine[]) =>
  lines.map(({ revision, amount, balance }) => [revision, amount, balance]);

const LIFE = lifeWith(
  [opened, granted('g', 1_000), keyIssued()],
  usageOf(1, 300),
  usageOf(2, 5, { billable: false, outcome: 'upstream_refused' }),
  usageOf(3, 100, { source: 'estimated', outcome: 'client_disconnected', unpriced: ['service_tier: batch'] }),
);

describe('a statement', () => {
  it('has at each line the balance that the events up to it make, whatever life they are of, and nothing amiss', () => {
    fc.assert(
      fc.property(lives, fc.boolean(), (steps, withAll) => {
        const life = live(steps);
        const balances: bigint[] = [];
        life.reduce<Parameters<typeof evolve>[0]>((state, event) => {
          const next = evolve(state, event);
          balances.push(next.balance);
          return next;
        }, INITIAL_ACCOUNT);
        const { statement, lines } = statementOf(storedLife(life), withAll);
        expect(lines.map(({ balance }) => balance)).toEqual(lines.map(({ revision }) => balances[revision]));
        expect([statement.faults, statement.balance]).toEqual([0, balances.at(-1)]);
        if (withAll) expect(lines).toHaveLength(life.length);
      }),
      { numRuns: 60, seed: 14 },
    );
  });

  it('has one line for a request, that of its debit, with what its usage alone says', () => {
    const { lines } = statementOf(storedLife(LIFE));
    expect(told(lines)).toEqual([
      [0, null, 0n],
      [1, 1_000n, 1_000n],
      [2, null, 1_000n],
      [4, -300n, 700n],
      [5, null, 700n],
      [7, -100n, 600n],
    ]);
    expect(lines.slice(3).map(({ sentence }) => sentence)).toEqual([
      'opal-medium: 300 output, req_019a5b3c000070008000000000000001',
      'opal-medium: 5 output (refused by the upstream; not charged), req_019a5b3c000070008000000000000002',
      'opal-medium: 100 output (the client left before its end; estimated; no price for service_tier: batch), ' +
        'req_019a5b3c000070008000000000000003',
    ]);
  });

  it('counts events of leases, and shows them among all', () => {
    const leased: AccountEvent[] = [
      ...LIFE,
      ...(['CreditsLeased', 'LeaseReleased', 'LeaseNarrowed'] as const).map(exampleOf),
    ];
    const { statement, lines } = statementOf(storedLife(leased));
    expect([statement.leftOut, lines.length]).toEqual([3, 6]);
    const all = statementOf(storedLife(leased), true);
    expect([all.statement.leftOut, all.lines.length]).toEqual([0, leased.length]);
  });

  const [first, second, third, usage, debit, ...rest] = storedLife(LIFE);
  if (!first || !second || !third || !usage || !debit) throw new Error('the life is too short');

  it('does not know the balance behind an event that cannot be read, until one says it', () => {
    const { statement, lines } = statementOf([first, second, { ...third, data: '{}' }, usage, debit, ...rest]);
    expect(told(lines)).toEqual([
      [0, null, 0n],
      [1, 1_000n, 1_000n],
      [2, null, null],
      [4, -300n, 700n],
      [5, null, 700n],
      [7, -100n, 600n],
    ]);
    expect(lines[2]?.sentence).toMatch(/^cannot be read: account-acme revision 2 \(ApiKeyIssued\): keyId: required/);
    expect(statement.faults).toBe(1);
  });

  it('says where a revision is missing, or stands twice', () => {
    expect(statementOf([first, second, usage, debit, ...rest]).lines[2]).toMatchObject({
      fault: 'revision 2 should follow, and 3 does: events are missing, or stand twice',
      balance: null,
    });
    expect(statementOf([first, second, second]).statement.faults).toBe(1);
  });

  it('says where an event’s own balance is another than the events before it make', () => {
    const altered = { ...second, data: second.data.replace('"amount":"1000"', '"amount":"1500"') };
    const { statement, lines } = statementOf([first, altered, third, usage, debit, ...rest]);
    expect(lines[3]?.fault).toBe('It says 0.000700 USD as the balance after it; by the events before it is 0.001200');
    // Once: what follows goes by what was said.
    expect(statement.faults).toBe(1);
  });

  it('takes a debit without its usage for what it is', () => {
    const moved = [first, second, third, { ...debit, revision: 3 as Revision }].map((event, at) => ({
      ...event,
      revision: revision(at),
    }));
    expect(told(statementOf(moved).lines).at(-1)).toEqual([3, -300n, 700n]);
  });

  it('has nothing of a request’s usage at the debit of another', () => {
    const ofAnother = rest.find(({ type, data }) => type === 'UsageRecorded' && data.includes('"estimated"'));
    if (ofAnother === undefined) throw new Error('a usage was estimated');
    const moved = [first, second, third, ofAnother, debit].map((event, at) => ({ ...event, revision: revision(at) }));
    expect(statementOf(moved).lines.slice(3)).toMatchObject([
      { revision: 3, amount: null },
      { revision: 4, sentence: 'opal-medium: 300 output, req_019a5b3c000070008000000000000001', fault: null },
    ]);
  });
});
