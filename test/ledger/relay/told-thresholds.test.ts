import { expect, it } from 'vitest';
import { decodeRecorded } from '../../../contracts/event-codec.ts';
import { type FeedEvent, readFeedMessage } from '../../../contracts/feed-message.ts';
import { accountId, accountStream, keyId } from '../../../contracts/ids.ts';
import { SYSTEM } from '../../../contracts/permissions.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { CARD, usageOf } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { programInProcess } from '../../fixtures/processes/program-in-process.ts';
import { MemoryPublisher } from './memory-publisher.ts';
import { relayInMemory } from './relay-in-memory.ts';

const ACCOUNT = accountId('acct_ada');
const MONTH = '2026-11';

/** So much of each limit is spent by requests of so many micro-USD, one after the other. */
async function spent(...amounts: readonly number[]) {
  const log = new MemoryEventLog();
  const program = endedLater(await programInProcess(log));
  const nowMs = Date.parse(`${MONTH}-05T10:00:00.000Z`);
  program.clock = () => nowMs;
  await identifyLedger(log, nowMs, recordingBy('gateway', nowMs));
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', ACCOUNT, '--trial-usd', '1');
  const key = keyId(String((await program.json('key', 'issue', ACCOUNT)).keyId));
  const limit = ['limit', 'set', ACCOUNT];
  await program.run(...limit, '--usd', '0.001');
  await program.run(...limit, '--member', 'ada@example.com', '--usd', '0.0005', '--soft', '--thresholds', '60,90');
  await program.run(...limit, '--key', key, '--usd', '0.002');
  for (const [at, amount] of amounts.entries()) {
    const instant = new Date(nowMs).toISOString();
    const usage = usageOf(at + 1, amount, { keyId: key, startedAt: instant, finishedAt: instant });
    const command = { type: 'RecordUsage', usage, card: CARD } as const;
    const done = await executeCommand(log, ACCOUNT, command, SYSTEM, recordingBy('gateway', nowMs));
    expect(done.type).toBe('done');
  }
  return { log, program, key };
}

/** All that the feed has, as its consumers read it. */
async function published(log: MemoryEventLog): Promise<FeedEvent[]> {
  const publisher = new MemoryPublisher();
  expect(await relayInMemory(log, publisher, { endsCaughtUp: true }).ended).toBeNull();
  return publisher.messages.map(readFeedMessage);
}

it('each threshold that a limit of an account, a member or a key crosses stands in the log, its feed and account show, once', async () => {
  const { log, program, key } = await spent(310, 200, 400, 200);
  const feed = await published(log);
  const ofAccount = feed.filter(({ stream }) => stream === accountStream(ACCOUNT));
  const told = ofAccount
    .map((message) => decodeRecorded(message).event)
    .flatMap((event) => (event.type === 'SpendThresholdCrossed' ? [event.data] : []));
  expect(told.map(({ scope, thresholdPercent, limit, spent: of }) => [scope, thresholdPercent, limit, of])).toEqual([
    ['member', 60, 500n, 310n],
    ['account', 50, 1_000n, 510n],
    ['member', 90, 500n, 510n],
    ['account', 80, 1_000n, 910n],
    ['account', 100, 1_000n, 1_110n],
    ['key', 50, 2_000n, 1_110n],
  ]);
  expect(new Set(told.map(({ month }) => month))).toEqual(new Set([MONTH]));
  // Whoever folds the feed knows what the log does.
  const views = new AccountViews();
  for (const message of ofAccount) views.take(ACCOUNT, message);
  const { state } = views.read(ACCOUNT);
  const crossed = state.type === 'open' ? state.spend.months[MONTH]?.crossed : null;
  expect(crossed).toEqual([
    ...['member:ada@example.com:60', 'account:50', 'member:ada@example.com:90', 'account:80', 'account:100'],
    `${key}:50`,
  ]);
  expect(await program.json('account', 'show', ACCOUNT)).toMatchObject({ spend: { months: { [MONTH]: { crossed } } } });
  expect(await program.run('account', 'show', ACCOUNT)).toMatch(/50.*80.*100/);
});
