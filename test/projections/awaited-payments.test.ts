import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountId, accountStream, attemptId } from '../../contracts/ids.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { awaitedPaymentsIn } from '../../projections/awaited-payments.ts';
import { Projections } from '../../projections/projections.ts';
import { given } from '../fixtures/ledger/decider-specification.ts';
import { granted, ms, opened } from '../fixtures/ledger/example-account.ts';
import { catalogOf, STARTER, subscribed } from '../fixtures/ledger/example-plan-events.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { viewsFile } from './example-ledger.ts';

const NOW = ms('2027-02-02T00:00:00.000Z');

it('a plan whose next period is not paid has its grace, one that is paid and accounts without one have nothing', async () => {
  const log = new MemoryEventLog();
  const write = (id: string, events: Parameters<typeof encodeEvents>[0]): void =>
    void log.write(accountStream(accountId(id)), encodeEvents(events, recordingBy('test', NOW)));
  const paid = [opened, ...subscribed('starter', '2027-01-01T00:00:00.000Z')];
  const renewal = { provider: 'manual', catalog: catalogOf(STARTER), nowMs: NOW } as const;
  const renewing = given(...paid).decided({ type: 'StartRenewal', ...renewal });
  write('acct_late', [...paid, ...renewing]);
  const atStripe = [...paid, ...given(...paid).decided({ type: 'StartRenewal', ...renewal, provider: 'stripe' })];
  const of = { attemptId: attemptId('renewal_2027-02-01T00:00:00.000Z'), reason: 'x', nowMs: NOW };
  const ended = (by: { readonly endedBy?: 'operator' }) =>
    given(...atStripe).decided({ type: 'AbandonPayment', ...of, ...by });
  write('acct_unanswered', [...atStripe, ...ended({})]);
  write('acct_ended', [...atStripe, ...ended({ endedBy: 'operator' })]);
  // By a clock that is behind: the first one was declined, the second is the newest.
  const declined = given(...atStripe).decided({
    ...{ type: 'RecordPaymentFailure', attemptId: of.attemptId, code: 'x', isTerminal: true, nowMs: NOW },
  });
  const again = given(...atStripe, ...declined).decided({
    ...{
      type: 'ChangePlan',
      plan: 'starter',
      reason: 'x',
      by: 'x',
      ...renewal,
      provider: 'stripe',
      nowMs: NOW - 6_000,
    },
  });
  const behind = [...atStripe, ...declined, ...again];
  const second = attemptId(`${of.attemptId}_2`);
  write('acct_behind', [...behind, ...given(...behind).decided({ ...of, type: 'AbandonPayment', attemptId: second })]);
  write('acct_new', paid);
  write('acct_plain', [opened, granted('g', 5)]);
  const path = viewsFile();
  const projections = await Projections.start({ log, path, persist: true });
  await projections.whenCaughtUp();
  await projections.close();

  const all = await awaitedPaymentsIn(path, NOW, () => true);
  expect([all.count, all.isWhole]).toEqual([6, true]);
  const graceUntilMs = NOW + STARTER.graceDays * 86_400_000;
  const [none, late] = [[], { graceUntilMs }];
  // What an operator has ended is begun again by nobody, and is an operator's to say.
  expect(all.found.filter((one) => one.graceUntilMs !== null)).toMatchObject([
    { accountId: 'acct_behind', ...late, open: none, givenUp: [{ attemptId: second }] },
    { accountId: 'acct_ended', ...late, open: none, givenUp: none },
    { accountId: 'acct_late', ...late, open: [{ provider: 'manual' }], givenUp: none },
    { accountId: 'acct_unanswered', ...late, open: none, givenUp: [{ provider: 'stripe' }] },
  ]);
  expect(await awaitedPaymentsIn(path, NOW, () => false)).toMatchObject({ count: 6, isWhole: false });
  expect(await awaitedPaymentsIn(viewsFile(), NOW, () => true)).toEqual({ found: [], count: 0, isWhole: true });
});
