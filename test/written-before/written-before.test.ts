import { describe, expect, it } from 'vitest';
import { decodeEvent } from '../../contracts/event-codec.ts';
import { type AccountId, accountId, accountStream } from '../../contracts/ids.ts';
import { recordOf } from '../../ledger/account/keyed-tree.ts';
import { loadAccount } from '../../ledger/account/load-account.ts';
import { loadCatalog } from '../../ledger/catalog/catalog-state.ts';
import { viewRows } from '../crash/view-rows.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { upstreamWithScript } from '../upstream/fixtures/upstream-with-script.ts';
import type { RecordedEvent } from './computed.ts';
import { type KeptState, type Kind, type Parts, putBack } from './kept-state.ts';

type Stored = Record<string, unknown>;

/** Commits whose written state is kept (README.md). */
const COMMITS: readonly { commit: string; kinds: readonly Kind[]; parts: readonly Parts[] }[] = [
  { commit: '76ed563', kinds: ['sqlite', 'eventstoredb'], parts: ['whole', 'ledger and views', 'ledger'] },
  { commit: '5add9f2', kinds: ['sqlite'], parts: ['whole', 'ledger'] },
];

describe.each(COMMITS)('what the program of $commit has written', ({ commit, kinds, parts }) => {
  describe.each(kinds)('with its log in %s', (kind) => {
    it.each(parts)('opens to the same balances, months, keys, grants and answers: %s', async (parts) => {
      const kept = await putBack(commit, kind, parts);
      const before = await revisionsOf(kept);
      const first = await start(kept);
      for (const { key, status, me } of kept.computed.keys) {
        const answer = await ask(first, key);
        expect(answer.status).toBe(status);
        if (status === 200) expect(answer.me).toMatchObject(me as object);
      }
      for (const id of idsOf(kept))
        expect(await accountOf(first, id)).toMatchObject(comparable(kept.computed.accounts[id]));
      // The journal's requests are settled as the program of then would have settled them.
      for (const id of idsOf(kept))
        expect(await settledSince(first, id, before.get(id) ?? 0)).toEqual(settled(kept.computed.added[id] ?? []));
      await first.stop();

      // The ledger replays: views made from nothing are those that were carried on, to the byte.
      const rows = viewRows(kept.data, { remove: true });
      const second = await start(kept);
      await second.stop();
      const rebuilt = viewRows(kept.data, { remove: false });
      expect(rebuilt.length).toBeGreaterThan(0);
      // What views of an earlier version have left in the old file is read by nobody.
      const tables = new Set(rebuilt.map(tableOf));
      expect(rebuilt).toEqual(rows.filter((row) => tables.has(tableOf(row))));
    });

    it('is served from and billed on, at the prices published last', async () => {
      const upstream = await upstreamWithScript();
      const kept = await putBack(commit, kind, 'whole');
      const gateway = await start(kept, upstream.url);
      expect((await loadCatalog(kept.log)).version).toBe(2);
      const [laptop] = kept.computed.keys;
      if (laptop === undefined) throw new Error('the fixture has no key');
      const before = (await gateway.events(accountId(laptop.accountId))).length;
      for (const stream of [false, true]) {
        const answer = await postMessage(gateway, { key: laptop.key, model: 'opal-medium', stream });
        expect(answer.status).toBe(200);
        await answer.rest();
      }
      const added = (await gateway.events(accountId(laptop.accountId))).slice(before);
      const debits = added.flatMap((event) => (event.type === 'CreditsDebited' ? [event.data] : []));
      expect(debits).toHaveLength(2);
      for (const { lines } of debits) expect(lines[0]).toMatchObject({ tokenClass: 'input', rate: 3_500_020n });
      await gateway.stop();
    });
  });
});

/** Today's gateway on the folder, with the clock at the instant at which the old program was asked. */
async function start({ data, log, clock }: KeptState, upstreamUrl = 'http://127.0.0.1:9'): Promise<TestGateway> {
  return startTestGateway({ data, log, clock, upstreamUrl, settings: { proxies: 'many' } });
}

const idsOf = ({ computed }: KeptState): AccountId[] => Object.keys(computed.accounts).map(accountId);

async function ask(gateway: TestGateway, key: string): Promise<{ status: number; me: unknown }> {
  const response = await fetch(`${gateway.url}/me`, { headers: { 'x-api-key': key } });
  return { status: response.status, me: await response.json() };
}

const tableOf = (row: string): string => (JSON.parse(row) as { table: string }).table;

async function revisionsOf({ log, computed }: KeptState): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const id of Object.keys(computed.accounts))
    counts.set(id, (await Array.fromAsync(log.readStream(accountStream(accountId(id))))).length);
  return counts;
}

async function accountOf({ log }: TestGateway, id: AccountId): Promise<unknown> {
  const { state } = await loadAccount(log, id);
  if (state.type === 'unopened') return expect.fail(`${id} is not there`);
  const { spend } = state;
  const months = Object.entries(spend.months).map(([month, of]) => [month, { ...of, keys: recordOf(of.keys) }]);
  const shown = {
    ...{ ...state, keys: recordOf(state.keys) },
    spend: { ...spend, keyLimits: recordOf(spend.keyLimits), months: Object.fromEntries(months) },
  };
  return comparable(
    JSON.parse(JSON.stringify(shown, (_name, value) => (typeof value === 'bigint' ? String(value) : value))),
  );
}

/** What of an account may not change. What later programs add to it, and leases, which come and go, are left out. */
function comparable(account: unknown): object {
  const { type, email, kind, plan, openedAtMs, suspended, keys, grants, carry, uncovered, balance, spend } =
    account as Stored;
  return { type, email, kind, plan, openedAtMs, suspended, keys, grants, carry, uncovered, balance, spend };
}

async function settledSince(gateway: TestGateway, id: AccountId, from: number): Promise<object> {
  await gateway.gateway.process.settlement.idle();
  const events = (await Array.fromAsync(gateway.log.readStream(accountStream(id)))).slice(from);
  // Read once as today's program reads it, so that nothing unreadable was written; compared as it is stored.
  for (const event of events) decodeEvent(event);
  return settled(events.map(({ revision, type, data }) => ({ revision, type, data: JSON.parse(data) as unknown })));
}

/** Usages and costs by request. Their order, and with it which debit takes the carry along, is nobody's promise. */
function settled(events: readonly RecordedEvent[]): Record<string, object> {
  const found: Record<string, object> = {};
  for (const { type, data } of events) {
    const { requestId, keyId, model, upstream, tokens, lane, outcome, source, billable, cost } = data as Stored;
    const name = `${String(requestId)} ${type}`;
    const usage = { keyId, model, upstream, tokens, lane, outcome, source, billable };
    if (type === 'UsageRecorded') found[name] = usage;
    if (type === 'CreditsDebited') found[name] = { keyId, cost };
  }
  return found;
}
