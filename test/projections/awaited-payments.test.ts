import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountId, accountStream } from '../../contracts/ids.ts';
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
  write('acct_new', paid);
  write('acct_plain', [opened, granted('g', 5)]);
  const path = viewsFile();
  const projections = await Projections.start({ log, path, persist: true });
  await projections.whenCaughtUp();
  await projections.close();

  const all = await awaitedPaymentsIn(path, NOW, () => true);
  expect([all.count, all.isWhole]).toEqual([3, true]);
  expect(all.found.filter(({ graceUntilMs }) => graceUntilMs !== null)).toMatchObject([
    { accountId: 'acct_late', graceUntilMs: NOW + STARTER.graceDays * 86_400_000, open: [{ provider: 'manual' }] },
  ]);
  expect(await awaitedPaymentsIn(path, NOW, () => false)).toMatchObject({ count: 3, isWhole: false });
  expect(await awaitedPaymentsIn(viewsFile(), NOW, () => true)).toEqual({ found: [], count: 0, isWhole: true });
});
