import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { accountId, accountStream, LEDGER_STREAM } from '../../contracts/ids.ts';
import { copyLedger } from '../../ledger/copy/move-ledger.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { endFile } from '../../ledger/event-log/sqlite/end-file.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { readKnownViews, VIEWS_FILE } from '../../projections/known-views.ts';
import { folderWithLedger } from '../commands/folder-with-ledger.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { LedgerSite } from '../ledger-loss/lost-ledgers.ts';
import { end, head, wait, write } from '../upstream/answer.ts';
import { upstreamWithScript } from '../upstream/fixtures/upstream-with-script.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { type KeptState, type Kind, putBack, readKept } from '../written-before/kept-state.ts';

const COMMIT = '76ed563';
const other = (kind: Kind): Kind => (kind === 'sqlite' ? 'eventstoredb' : 'sqlite');

async function emptyLog(kind: Kind): Promise<EventLog> {
  if (kind === 'sqlite') return endedLater(await openSqliteEventLog({ path: join(temporaryFolder(), 'ledger.db') }));
  const { connectionString } = endedLater(await startFakeEventStore());
  return endedLater(await openEventStoreDbEventLog({ connectionString, waitForServer: true }));
}

/** The ledger of a kept folder in a log of the other kind, where it has moved by the clock of then. */
async function moved({ data, log, clock }: KeptState, from: Kind): Promise<EventLog> {
  const target = await emptyLog(other(from));
  const file = join(data, 'ledger.db');
  const recording = () => recordingBy('operator', clock());
  await copyLedger(
    {
      log,
      end: async (expected, of) => {
        if (from === 'sqlite') return endFile(file, { stream: LEDGER_STREAM, expected, of });
        const newest = (await Array.fromAsync(log.readAll())).at(-1) ?? null;
        return (await log.append(LEDGER_STREAM, expected, [of(newest)])).type === 'appended';
      },
    },
    { log: target, place: 'elsewhere', isShared: from === 'sqlite' },
    {
      ...{ recording, onCopied: () => undefined, onCompared: () => undefined },
      move: { beforeEnd: async () => undefined, beforeArrival: async () => undefined },
    },
  );
  return target;
}

/** From where on the log is followed, one after the other; views are the first. */
function followedFrom(log: EventLog): (number | null)[] {
  const from: (number | null)[] = [];
  const subscribeAll = log.subscribeAll.bind(log);
  log.subscribeAll = (options) => {
    from.push(options.after);
    return subscribeAll(options);
  };
  return from;
}

describe.each<Kind>(['sqlite', 'eventstoredb'])('a data folder whose ledger has moved out of %s', (kind) => {
  it('settles its journal there as it would have before', async () => {
    const kept = await putBack(COMMIT, kind, 'whole');
    const target = await moved(kept, kind);
    const counts = new Map<string, number>();
    for (const id of Object.keys(kept.computed.added))
      counts.set(id, (await Array.fromAsync(target.readStream(accountStream(accountId(id))))).length);
    // Nothing is there to fall back on.
    if (kind === 'sqlite') renameSync(join(kept.data, 'ledger.db'), join(kept.data, 'ledger.db.moved'));
    const { data, clock } = kept;
    const gateway = await startTestGateway({
      ...{ data, log: target, clock, upstreamUrl: 'http://127.0.0.1:9', settings: { proxies: 'many' } },
    });
    for (const { key, status } of kept.computed.keys) {
      const answer = await fetch(`${gateway.url}/me`, { headers: { 'x-api-key': key } });
      expect(answer.status).toBe(status);
    }
    const settled = Object.entries(kept.computed.added).flatMap(([id, events]) => events.map(({ data }) => [id, data]));
    const usages = settled.flatMap(([, data]) => (data as { requestId?: string }).requestId ?? []);
    expect(usages.length).toBeGreaterThan(2);
    const found: unknown[] = [];
    for (const [id, count] of counts)
      for (const event of (await gateway.events(accountId(id))).slice(count))
        if ('requestId' in event.data) found.push(event.data.requestId);
    expect(found.sort()).toEqual(usages.sort());
    await gateway.stop();
  });
});

describe('a gateway that serves while its ledger is moved', () => {
  it('ends and says where it has gone, as does one that is started there; where it is it serves', async () => {
    const { folder, computed } = readKept(COMMIT, 'sqlite', 'ledger and views');
    const site = new LedgerSite('sqlite', folder, computed);
    await site.up();
    const store = endedLater(await startFakeEventStore());
    const { whenLost, stop } = await site.serve();
    const copied = await runHere('--config', site.configPath, 'ledger', 'copy', '--to', store.connectionString);
    expect(copied).toMatchObject({ exitCode: 0, stderr: '' });
    const gone = /^the ledger \(.*ledger\.db\) has moved to EventStoreDB at 127\.0\.0\.1:\d+ at 20/;
    expect((await whenLost).message).toMatch(gone);
    await stop();
    await expect(site.serve()).rejects.toThrow(gone);
    const { connectionString } = store;
    const log = await openEventStoreDbEventLog({ connectionString, waitForServer: true });
    const from = followedFrom(log);
    const last = readKnownViews(join(site.data, VIEWS_FILE))?.events[0];
    const { stop: end } = await site.serve({ log });
    // Its views go on from the last event that they had of the old place, where that stands in the new one.
    const events = await Array.fromAsync(log.readAll());
    expect(events.find(({ position }) => position === from[0])).toMatchObject({ id: last?.id });
    await end();
  });
});

it('what has begun before the move and ends behind it is billed where the ledger is, once', async () => {
  const ended = Promise.withResolvers<void>();
  const [first, ...rest] = streamEvents({ tokens: { input: 1_000, output: 200 } });
  const script = [head(), write(first ?? ''), wait(ended.promise), ...rest.map(write), end];
  const upstream = await upstreamWithScript(script);
  const lost = Promise.withResolvers<Error>();
  const before = await startTestGateway({ upstreamUrl: upstream.url, onUnusable: lost.resolve });
  const answer = await postMessage(before, { stream: true });
  expect(await answer.next()).not.toBeNull();
  const { connectionString } = endedLater(await startFakeEventStore());
  const config = join(before.data, 'gateway.json');
  expect(await runHere('--config', config, 'ledger', 'copy', '--to', connectionString)).toMatchObject({ exitCode: 0 });
  expect((await lost.promise).message).toMatch(/has moved to/);
  ended.resolve();
  expect((await answer.rest()).toString()).toContain('message_stop');
  await before.stop(1);

  const log = endedLater(await openEventStoreDbEventLog({ connectionString, waitForServer: true }));
  const { data } = before;
  const after = await startTestGateway({ data, log, upstreamUrl: upstream.url, settings: { proxies: 'many' } });
  const types = (await after.events()).map(({ type }) => type).filter((type) => /Usage|Debited/.test(type));
  expect(types).toEqual(['UsageRecorded', 'CreditsDebited']);
  await after.stop();
});

it('an event store is copied while a gateway serves from it, and moved to a file once that has ended: what ended between is there, once', async () => {
  const upstream = await upstreamWithScript([
    head(),
    ...streamEvents({ tokens: { input: 1_000, output: 200 } }).map(write),
    end,
  ]);
  const before = await startTestGateway({ ...(await folderWithLedger('eventstoredb')), upstreamUrl: upstream.url });
  const asked = async (gateway: typeof before): Promise<void> => {
    const answer = await postMessage(gateway, { stream: true });
    expect((await answer.rest()).toString()).toContain('message_stop');
  };
  await asked(before);
  const { data } = before;
  const path = join(data, 'ledger.db');
  const copied = (...flags: readonly string[]) =>
    runHere('--config', join(data, 'gateway.json'), 'ledger', 'copy', '--to', path, ...flags);
  expect(await copied('--copy-only')).toMatchObject({ exitCode: 0 });
  await asked(before);
  expect(await copied()).toMatchObject({
    exitCode: 3,
    stderr: expect.stringMatching(
      /everything is copied, and the ledger is where it was: proxy_\w+ may still serve from it/,
    ),
  });
  expect(existsSync(path)).toBe(false);
  await asked(before);
  const billed = (await before.events()).filter(({ type }) => /Usage|Debited/.test(type));
  expect(billed).toHaveLength(6);
  await before.stop();
  expect(await copied()).toMatchObject({ exitCode: 0, stderr: '' });

  const log = endedLater(await openSqliteEventLog({ path }));
  const after = await startTestGateway({
    data,
    log,
    upstreamUrl: upstream.url,
    settings: { eventLog: { kind: 'sqlite' } },
  });
  await asked(after);
  const there = (await after.events()).filter(({ type }) => /Usage|Debited/.test(type));
  expect([there.slice(0, 6), there.length]).toEqual([billed, 8]);
  await after.stop();
});
