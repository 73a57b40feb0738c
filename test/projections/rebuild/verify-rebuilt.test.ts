import { cpSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountId, accountStream } from '../../../contracts/ids.ts';
import { verifyRebuilt } from '../../../projections/rebuild/verify-rebuilt.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { inTurnsThroughout, passing } from '../../fixtures/ledger/turns.ts';
import { exampleLives, execute, viewsFile, writeLives } from '../example-ledger.ts';
import { written } from '../started-projections.ts';

inTurnsThroughout();

/** More accounts than are sampled: every second one is. */
const COUNT = 101;
/** One of each life that moves money, none of them sampled. */
const MOVING = ['b1', 'b3', 'b5', 'b7', 'b9', 'b11', 'b13', 'b15'].map(accountId);
const ASIDE = accountId('b17');

let made: ReturnType<typeof make> | null = null;

/** The last bill of one account cannot be read. */
async function make() {
  const examples = [...exampleLives(MOVING.length).values()];
  const billed = examples.find((events) => events.some(({ type }) => type === 'CreditsDebited')) ?? [];
  const lives = Array.from({ length: COUNT }, (_, number) => {
    const id = accountId(`b${number}`);
    const moving = id === ASIDE ? billed : examples[MOVING.indexOf(id)];
    return [id, (moving ?? billed.slice(0, 2)).map((event) => ownedBy(id, event))] as const;
  });
  const log = new MemoryEventLog();
  writeLives(log, new Map(lives), 0, Math.max(...lives.map(([, { length }]) => length)));
  const bad = log.events.findLast(({ stream, type }) => stream === accountStream(ASIDE) && type === 'CreditsDebited');
  Object.assign(bad ?? {}, { data: '{"cut' });
  return { log, path: await written(log) };
}

function ownedBy(id: ReturnType<typeof accountId>, event: AccountEvent): AccountEvent {
  return event.type === 'AccountOpened' ? { ...event, data: { ...event.data, accountId: id } } : event;
}

async function faultsAfter(change: string): Promise<readonly string[]> {
  made ??= make();
  const { log, path } = await made;
  const changed = viewsFile();
  cpSync(path, changed);
  if (change !== '') execute(changed, change);
  const { faults, sampled, accounts } = await passing(verifyRebuilt(changed, log));
  expect([accounts, sampled]).toEqual([COUNT, 51]);
  return faults;
}

test('views as they were written have no fault, also where an account is set aside in the middle of its stream', async () => {
  expect(await faultsAfter('')).toEqual([]);
  const { log } = await (made ?? make());
  const types = new Set(log.events.map(({ type }) => type));
  const moving = ['CreditsGranted', 'CreditsExpired', 'CreditsReinstated', 'CreditsDebited', 'ExceptionApproved'];
  expect(moving.filter((type) => !types.has(type))).toEqual([]);
});

test('money of accounts that are not sampled has to be what their events come to, each by itself', async () => {
  const { log } = await (made ?? make());
  const billed = MOVING.filter((id) =>
    log.events.some(({ stream, type }) => stream === accountStream(id) && type === 'CreditsDebited'),
  );
  const [gone, tenfold] = billed;
  // Both together are right.
  const by = (amount: number, id: string) =>
    `UPDATE balance_v7 SET balance_micro_usd = CAST(balance_micro_usd + ${amount} AS TEXT) WHERE account_id = '${id}';`;
  const faults = await faultsAfter(
    `${by(5, 'b21')} ${by(-5, 'b23')}
     UPDATE balance_v7 SET state = json_set(state, '$.balance', '999000000') WHERE account_id = 'b25';
     DELETE FROM monthly_v2 WHERE account_id = '${gone}';
     UPDATE monthly_v2 SET amount_pico_usd = amount_pico_usd || '0' WHERE account_id = '${tenfold}';`,
  );
  const wrong = ['balance b21', 'balance b23', 'balance b25', `monthly ${gone}`, `monthly ${tenfold}`];
  expect(faults.toSorted()).toEqual(
    wrong.toSorted().map((what) => expect.stringMatching(new RegExp(`^${what}: it is .*, its events come to -?\\d+$`))),
  );
});

test('who should be set aside and is not is told with the event', async () => {
  expect(await faultsAfter('DELETE FROM set_aside_v1')).toContainEqual(
    expect.stringMatching(`${accountStream(ASIDE)} revision \\d+ \\(CreditsDebited\\): its data is not JSON`),
  );
});
