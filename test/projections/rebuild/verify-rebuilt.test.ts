import { cpSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { accountId, accountStream } from '../../../contracts/ids.ts';
import { CatalogView } from '../../../projections/catalog-view.ts';
import { EventSums } from '../../../projections/rebuild/event-sums.ts';
import { verifyRebuilt } from '../../../projections/rebuild/verify-rebuilt.ts';
import { BALANCE_TABLE } from '../../fixtures/ledger/balance-table.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { inTurnsThroughout, passing } from '../../fixtures/ledger/turns.ts';
import { exampleLives, execute, ownedBy, viewsFile, writeLives } from '../example-ledger.ts';
import { written } from '../started-projections.ts';

inTurnsThroughout();

/** More accounts than are sampled: every second one is. */
const COUNT = 101;
/** One of each life that moves money, none of them sampled. */
const MOVING = Array.from({ length: 32 }, (_, number) => accountId(`b${2 * number + 1}`));
const ASIDE = accountId('b65');

let made: ReturnType<typeof make> | null = null;
let madeReadable: ReturnType<typeof make> | null = null;

/** The last bill of one account cannot be read, unless that is asked for. */
async function make(isReadable = false) {
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
  if (!isReadable) Object.assign(bad ?? {}, { data: '{"cut' });
  return { log, path: await written(log) };
}

/** As they are handed to views that are made of them. */
function sumsOf(events: readonly RecordedEvent[]): EventSums {
  const sums = new EventSums();
  for (const event of events) sums.add(event);
  return sums;
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
  const moving = [
    ...['CreditsGranted', 'CreditsExpired', 'CreditsReinstated', 'CreditsDebited', 'ExceptionApproved'],
    ...['GrantRevoked', 'GrantRestored', 'DebitReversed', 'BalanceAdjusted'],
  ];
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
    `UPDATE ${BALANCE_TABLE} SET balance_micro_usd = CAST(balance_micro_usd + ${amount} AS TEXT) WHERE account_id = '${id}';`;
  const faults = await faultsAfter(
    `${by(5, 'b21')} ${by(-5, 'b23')}
     UPDATE ${BALANCE_TABLE} SET state = json_set(state, '$.balance', '999000000') WHERE account_id = 'b25';
     DELETE FROM monthly_v3 WHERE account_id = '${gone}';
     UPDATE monthly_v3 SET amount_pico_usd = amount_pico_usd || '0' WHERE account_id = '${tenfold}';`,
  );
  const wrong = ['balance b21', 'balance b23', 'balance b25', `monthly ${gone}`, `monthly ${tenfold}`];
  expect(faults.toSorted()).toEqual(
    wrong
      .toSorted()
      .map((what) =>
        expect.stringMatching(new RegExp(`^${what}: it is .*, its events come to -?[\\d,]+\\.\\d{6,12} USD$`)),
      ),
  );
});

test('who should be set aside and is not is told with the event', async () => {
  expect(await faultsAfter('DELETE FROM set_aside_v1')).toContainEqual(
    expect.stringMatching(`${accountStream(ASIDE)} revision \\d+ \\(CreditsDebited\\): its data is not JSON`),
  );
});

test('each account has to be as far as its stream goes, in both views, and nothing else may have a row', async () => {
  const faults = await faultsAfter(
    `UPDATE ${BALANCE_TABLE} SET revision = 0 WHERE account_id = 'b21';
     DELETE FROM monthly_v3_revision WHERE account_id = 'b23';
     INSERT INTO ${BALANCE_TABLE} SELECT 'ghost', revision, email, '0', json_set(state, '$.balance', '0'), stamp FROM ${BALANCE_TABLE} WHERE account_id = 'b21';
     INSERT INTO ${new CatalogView().tables[0].name} VALUES (0, '{}', 1)`,
  );
  expect(faults.toSorted()).toEqual([
    expect.stringMatching(/^balance_v\d+ b21: it is at revision 0, its stream ends at \d+$/),
    `${BALANCE_TABLE}: it has ${COUNT + 1} rows, for ${COUNT} accounts`,
    expect.stringMatching(/^monthly_v3_revision b23: it is at revision -1, its stream ends at \d+$/),
    `monthly_v3_revision: it has ${COUNT - 1} rows, for ${COUNT} accounts`,
    'the catalog has 1 row, for 0 publications',
  ]);
});

test('what the log has behind the file, and an account that is set aside by its first event, are no faults', async () => {
  made ??= make();
  const { log, path } = await made;
  const more = new MemoryEventLog();
  for (const { stream, ...event } of log.events) more.write(stream, [event]);
  writeLives(more, new Map([[accountId('later'), exampleLives(1).get(accountId('a0')) ?? []]]), 0, 2);
  expect((await passing(verifyRebuilt(path, more))).faults).toEqual([]);
  more.write(accountStream(accountId('poisoned')), [{ ...(more.events[0] ?? expect.fail()), type: 'Unknown' }]);
  expect((await passing(verifyRebuilt(await written(more), more))).faults).toEqual([]);
});

test('of every second account each value has to be what a fold of its stream has', async () => {
  expect(await faultsAfter(`UPDATE ${BALANCE_TABLE} SET email = 'x@y' WHERE account_id IN ('b20', 'b21')`)).toEqual([
    expect.stringMatching(/^balance_v\d+ b20: email is x@y, a fold of its stream has .+/),
  ]);
});

test('what was counted while they were made is not read once more, and finds the same', async () => {
  madeReadable ??= make(true);
  const { log, path } = await madeReadable;
  const sums = sumsOf(log.events);
  const changed = viewsFile();
  cpSync(path, changed);
  execute(
    changed,
    `UPDATE ${BALANCE_TABLE} SET balance_micro_usd = balance_micro_usd || '0', revision = 0 WHERE account_id = 'b21';
     UPDATE monthly_v3 SET amount_pico_usd = amount_pico_usd || '0' WHERE account_id = 'b65';
     INSERT INTO ${new CatalogView().tables[0].name} VALUES (0, '{}', 1)`,
  );
  const read = await passing(verifyRebuilt(changed, log));
  expect(read.faults.map((fault) => fault.split(':')[0]).toSorted()).toEqual(
    [`${BALANCE_TABLE} b21`, 'balance b21', 'monthly b65', 'the catalog has 1 row, for 0 publications'].toSorted(),
  );
  const [readStream, headPosition] = [log.readStream.bind(log), log.headPosition.bind(log)];
  const unread = { readStream, headPosition, readAll: () => expect.fail('it was read once more') };
  expect(await passing(verifyRebuilt(changed, unread, sums))).toEqual(read);
});

test.each<[string, (events: readonly RecordedEvent[]) => readonly RecordedEvent[]]>([
  ['ends before the views do', (events) => events.slice(0, -1)],
  ['lacks an event of the middle', (events) => events.filter((event) => event !== movingIn(events))],
  ['has one twice', (events) => events.flatMap((event) => (event === movingIn(events) ? [event, event] : [event]))],
  ['could not read one', (events) => events.map((event) => (event === movingIn(events) ? cut(event) : event))],
])('all are read once more where what was counted %s', async (_what, handedOver) => {
  madeReadable ??= make(true);
  const { log, path } = await madeReadable;
  expect((await passing(verifyRebuilt(path, log, sumsOf(handedOver(log.events))))).faults).toEqual([]);
});

test('and where an account is set aside, of which what cannot follow is not counted', async () => {
  const log = new MemoryEventLog();
  const [events = []] = exampleLives(1).values();
  const grants = events.filter(({ type }) => type === 'CreditsGranted').slice(0, 1);
  const twice = events.filter(({ type }) => type === 'AccountOpened');
  const own = [...twice, ...grants, ...twice, ...grants].map((event) => ownedBy(ASIDE, event));
  writeLives(log, new Map([[ASIDE, own]]), 0, own.length);
  const { faults, sampled } = await passing(verifyRebuilt(await written(log), log, sumsOf(log.events)));
  expect([faults, sampled]).toEqual([[], 1]);
});

/** A debit of which others of its stream stand behind. */
const movingIn = (events: readonly RecordedEvent[]): RecordedEvent =>
  events.find(({ type }) => type === 'CreditsDebited') ?? expect.fail('nothing is debited');

const cut = (event: RecordedEvent): RecordedEvent => ({ ...event, data: '{"cut' });
