import { rmSync } from 'node:fs';
import { catalogFileSchema } from '../../contracts/catalog.ts';
import { decodeEvent, encodeEvents } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { AccountEvent, UsageRecorded } from '../../contracts/events.ts';
import {
  type AccountId,
  accountId,
  accountStream,
  CATALOG_STREAM,
  NO_STREAM,
  position,
  revision,
  uuidV7,
} from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import type { RateCard } from '../../contracts/rate-card.ts';
import { NO_TOKENS } from '../../contracts/usage.ts';
import { type AccountState, INITIAL_ACCOUNT } from '../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { decide } from '../../ledger/account/decide.ts';
import { evolve } from '../../ledger/account/evolve.ts';
import { loadAccount } from '../../ledger/account/load-account.ts';
import { publishCatalog } from '../../ledger/catalog/publish-catalog.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { rotateSealKey } from '../../ledger/seals/rotate-key.ts';
import { keyOfFolder, nextKeyOfFolder, takeNextKey } from '../../ledger/seals/seal-keys.ts';
import { closeStatements } from '../../ledger/statement/close-statements.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { ACCOUNT, granted, keyIssued, ms, usageOf } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { recordedLife } from '../fixtures/ledger/recorded-life.ts';
import { requestIdFromUuid } from '../fixtures/ledger/request-of-uuid.ts';
import { sealLog } from '../fixtures/ledger/seal-log.ts';
import { type Row, rowsOf, writeRows } from '../fixtures/ledger/sealed-rows.ts';

/**
 * Makes of a kept ledger of November one as ledgers are: it has a month before; calls that failed, with and without an id of the
 * provider's; a model that costs nothing, and one of which all requests were refused; cache writes of both kinds; requests that
 * were left, that a crash has cut off and that were reported late; one about midnight; another provider; a key of seals that was
 * rotated and has sealed nothing yet; and, unsealed, an account that was opened in the month after.
 */
export async function makeAuditorsLedger(data: string): Promise<void> {
  const path = `${data}/ledger.db`;
  const kept = rowsOf(path);
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
  const october = await octobersCatalog();
  const after = kept.map((row) =>
    row.stream === CATALOG_STREAM
      ? {
          ...row,
          revision: revision(row.revision + 1),
          data: row.data.replace(/(?<=^\{"version":)\d+/, (one) => `${+one + 1}`),
        }
      : row,
  );
  const newest = after.findLast(({ stream }) => stream === CATALOG_STREAM);
  const cards = [...october, newest].flatMap(cardsIn);
  const { before = [], behind = [] } = Object.groupBy(recordedLife(life(cards)), ({ metadata }) =>
    JSON.parse(metadata).recordedAt < '2026-11-19' ? 'before' : 'behind',
  );
  writeRows(path, [...october, ...before, ...after, ...behind]);
  const log = await openSqliteEventLog({ path });
  await sealLog(log, data);
  const rotation = { from: keyOfFolder(data).key, to: nextKeyOfFolder(data) };
  await rotateSealKey(log, { ...rotation, recording: recordingBy('operator', Date.now()) });
  takeNextKey(data, rotation.to);
  const [openedAt, later] = ['2026-12-02T10:00:00.000Z', accountId('acct_new')];
  const events = [openedAs(later, openedAt), granted('grant_new', 7, { effectiveAt: openedAt })];
  await log.append(accountStream(later), NO_STREAM, encodeEvents(events, recordingBy('operator', ms(openedAt))));
  // The months of both are closed, a debit about midnight in that of its request's start.
  const terms = { graceMs: 0, nowMs: ms('2026-12-04T00:00:00.000Z'), actor: 'statement closer', mayWrite: () => true };
  for (const account of [ACCOUNT, accountId('acct_ada')]) {
    const { closed, heldUp } = await closeStatements(log, account, await loadAccount(log, account), terms);
    if (closed === 0 || heldUp !== null) throw new Error(`${account}: ${closed} statements closed: ${heldUp?.why}`);
  }
  await log.close();
}

const openedAs = (account: AccountId, openedAt: string): AccountEvent => ({
  type: 'AccountOpened',
  data: { accountId: account, kind: 'personal', email: 'owner@example.com', openedAt, product: 'gateway' },
});

const OCTOBERS = catalogFileSchema.parse({
  models: [
    catalogEntry('opal-old', { lanes: ['standard', 'fast'] }),
    catalogEntry('opal-free', { free: true, price: undefined }),
  ],
});

async function octobersCatalog(): Promise<Row[]> {
  const log = new MemoryEventLog();
  await publishCatalog(log, OCTOBERS, recordingBy('operator', ms('2026-10-01T09:00:00.000Z')));
  return log.events;
}

/** The rate cards of a catalog's models. */
function cardsIn(row: Row | undefined): readonly RateCard[] {
  const event = row === undefined ? null : decodeEvent({ ...row, position: position(0) });
  return event?.type === 'CatalogPublished' ? event.data.models.map(({ rateCard }) => rateCard) : [];
}

const refused = { outcome: 'upstream_refused', billable: false } as const;
const ending = { reason: 'the provider confirms it', actor: 'operator' };

/** @param cards of which each has the id of its model */
function life(cards: readonly RateCard[]): { event: AccountEvent; atMs: number }[] {
  const birth = '2026-10-10T09:00:00.000Z';
  const first = [openedAs(ACCOUNT, birth), granted('g', 90_000, { effectiveAt: birth }), keyIssued()];
  const events = first.map((event) => ({ event, atMs: ms(birth) }));
  let state = events.reduce<AccountState>((folded, { event }) => evolve(folded, event), INITIAL_ACCOUNT);
  const take = (atMs: number, command: AccountCommand): void => {
    const decided = decide(command, state);
    if ('type' in decided) throw new Error(decided.message);
    for (const event of decided) state = evolve(state, event);
    events.push(...decided.map((event) => ({ event, atMs })));
  };
  const cardOf = (model: string): RateCard => {
    const card = cards.find(({ id }) => id === model);
    if (card === undefined) throw new Error(`there is no card of ${model}`);
    return card;
  };
  const record = (startedAt: string, id: string | null, output: number, change: Partial<UsageRecorded> = {}) => {
    const { id: cardId, version, hash } = cardOf(change.model ?? 'opal-old');
    const usage = usageAt(startedAt, id, output, { rateCard: { id: cardId, version, hash }, ...change });
    take(ms(usage.finishedAt) + 5, { type: 'RecordUsage', usage, card: cardOf(usage.model) });
    return usage;
  };
  record('2026-10-20T12:00:00.000Z', 'req_october-1', 30);
  record('2026-10-31T23:59:59.900Z', 'req_midnight-1', 31);
  record('2026-11-05T12:00:00.000Z', 'req_free-1', 4_000, { model: 'opal-free' });
  record('2026-11-06T12:00:00.000Z', null, 0, { ...refused, lane: 'fast' });
  record('2026-11-07T12:00:00.000Z', 'req_error-1', 0, refused);
  const written = { ...NO_TOKENS, cacheWrite5m: 40_000, cacheWrite1h: 3 };
  record('2026-11-08T12:00:00.000Z', 'req_cache-1', 0, { tokens: written });
  const lost = record('2026-11-09T12:00:00.000Z', null, 0, {
    outcome: 'recovered',
    source: 'estimated',
    billable: false,
  });
  const late = usageAt(lost.startedAt, 'req_late-1', 9, { requestId: lost.requestId, rateCard: lost.rateCard });
  take(ms('2026-11-10T12:00:00.000Z'), { type: 'ReportLateUsage', usage: late, card: cardOf(late.model) });
  take(ms('2026-11-10T13:00:00.000Z'), { type: 'ApproveException', requestId: lost.requestId, ...ending });
  record('2026-11-11T12:00:00.000Z', 'req_beyond-1', 7, { hold: microUsd(2n) });
  record('2026-11-12T12:00:00.000Z', 'req_left-1', 3, { outcome: 'client_disconnected', source: 'estimated' });
  record('2026-11-13T12:00:00.000Z', 'other-1', 5, {
    upstream: { provider: 'mock', model: 'x', requestId: 'other-1' },
  });
  record('2026-11-30T23:59:59.900Z', 'req_midnight-2', 32, { model: 'granite-pro' });
  return events;
}

/** A request whose id says when it began. */
function usageAt(startedAt: string, id: string | null, output: number, change: Partial<UsageRecorded>): UsageRecorded {
  const atMs = ms(startedAt);
  return usageOf(0, output, {
    model: 'opal-old',
    requestId: requestIdFromUuid(uuidV7(atMs, new Uint8Array(10))),
    upstream: { provider: 'test', model: change.model ?? 'opal-old', requestId: id },
    startedAt,
    finishedAt: new Date(atMs + 1_000).toISOString(),
    ...change,
  });
}

/** The provider's report of November: what it has counted of what it has answered, by its own clock. */
export async function providersReport(log: EventLog): Promise<string> {
  const rows = [
    'request_id,model,input_tokens,output_tokens,cache_read_input_tokens,cache_creation_5m_input_tokens,cache_creation_1h_input_tokens,date',
  ];
  for await (const { type, data } of log.readAll()) {
    if (type !== 'UsageRecorded' && type !== 'LateUsageReported') continue;
    const given = JSON.parse(data);
    const { upstream, tokens, startedAt } = given.usage ?? given;
    const byItsClock = new Date(ms(startedAt) + 1_000).toISOString().slice(0, 10);
    if (upstream.provider !== 'test' || upstream.requestId === null || !byItsClock.startsWith('2026-11')) continue;
    if (Object.values<number>(tokens).every((count) => count === 0)) continue;
    // Of an answer that was left before its end the provider knows more than we do.
    const output = tokens.output + (upstream.requestId === 'req_left-1' ? 2 : 0);
    const counts = [tokens.input, output, tokens.cacheRead, tokens.cacheWrite5m, tokens.cacheWrite1h];
    rows.push([upstream.requestId, upstream.model, ...counts, byItsClock].join());
  }
  return `${rows.join('\n')}\n`;
}
