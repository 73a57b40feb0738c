import { once } from 'node:events';
import { cpSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { EventLogError, type RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountId, CATALOG_STREAM, keyId, LEDGER_STREAM } from '../../../contracts/ids.ts';
import { UnreadableEventError } from '../../../contracts/unreadable-event-error.ts';
import { freeBytesAt } from '../../../ledger/room-on-disk.ts';
import { damageOfRows } from '../../../projections/damaged-rows.ts';
import { readFoldedThrough } from '../../../projections/known-views.ts';
import { bringUp } from '../../../projections/rebuild/bring-up.ts';
import { EventSums } from '../../../projections/rebuild/event-sums.ts';
import type { LedgerInParts } from '../../../projections/rebuild/fold-in-parts.ts';
import { verifyRebuilt } from '../../../projections/rebuild/verify-rebuilt.ts';
import { readSetAside } from '../../../projections/rebuild/views-facts.ts';
import { wasClosedWhole } from '../../../projections/was-closed-whole.ts';
import { keyIssued } from '../../fixtures/ledger/example-account.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';
import { LogWithOutages } from '../../fixtures/ledger/log-with-outages.ts';
import { live, lives } from '../../fixtures/ledger/random-life.ts';
import { canMount, smallDisk } from '../../fixtures/ledger/small-disk.ts';
import { killStarted, startProcess } from '../../fixtures/processes/child-process.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { currentAtMsOf, dump, execute, ownedBy, viewsFile, writeTo } from '../example-ledger.ts';
import { exampleLog, writeClaim, writeEvent } from '../example-log.ts';
import { appendTo, type LedgerFile, ledgerFileOf } from '../ledger-file.ts';

const MAIN = fileURLToPath(new URL('fold-in-parts-main.ts', import.meta.url));
const SECRET = 'c7'.repeat(32);

/** Nothing is too little, and each is asked at each stretch. */
const inParts = (file: string, more: Partial<LedgerInParts> = {}): LedgerInParts => ({
  ...{ file, parts: 2, from: 0, stretchPositions: 10, pauseMs: () => 0 },
  ...more,
});

type Told = Partial<Parameters<typeof bringUp>[0]> & { readonly path: string };

const brought = ({ log }: LedgerFile, told: Told) =>
  bringUp({ log, identity: null, clock: Date.now, keepFreeBytes: 0, onFolded: () => undefined, ...told });

/** By one thread. */
async function whole(ledger: LedgerFile): Promise<string[]> {
  const path = viewsFile();
  await brought(ledger, { path });
  return dump(path);
}

const story = fc.record({
  lives: fc.array(lives, { minLength: 1, maxLength: 5 }),
  /** Whose events come next, and how many. */
  turns: fc.array(fc.record({ of: fc.nat(), events: fc.integer({ min: 1, max: 9 }) }), { maxLength: 30 }),
  /** The event that nobody can read. */
  ruined: fc.option(fc.nat()),
  /** Who is given the same secret, one after another, in the midst of it. */
  owners: fc.array(fc.nat(), { maxLength: 3 }),
  stretchPositions: fc.integer({ min: 1, max: 80 }),
});
type Story = typeof story extends fc.Arbitrary<infer S> ? S : never;

function eventsOf({ lives: steps, turns, ruined, owners }: Story): readonly RecordedEvent[] {
  const log = new LogWithOutages();
  const rest = steps.map((life, number) => {
    const id = accountId(`a${number}`);
    return { id, events: live(life).map((event) => ownedBy(id, event)) };
  });
  const take = (of: number, count: number): void => {
    const { id, events } = rest[of % rest.length] ?? expect.fail('there are some');
    const next = events.splice(0, count);
    if (next.length > 0) writeTo(log.inner, id, next);
  };
  const publish = (version: number): void => {
    const { data } = exampleOf('CatalogPublished');
    writeEvent(log, CATALOG_STREAM, { type: 'CatalogPublished', data: { ...data, version } });
  };
  writeEvent(log, LEDGER_STREAM, exampleOf('LedgerIdentified'));
  publish(1);
  for (const { of, events } of turns) take(of, events);
  for (const of of owners) writeTo(log.inner, accountId(`a${of % rest.length}`), [issued(`key_by_${of}`)]);
  publish(2);
  for (const of of rest.keys()) take(of, Number.MAX_SAFE_INTEGER);
  writeClaim(log);
  const { events } = log.inner;
  const ofAccounts = events.filter(({ stream }) => stream.startsWith('account-'));
  if (ruined !== null && ofAccounts.length > 0)
    Object.assign(ofAccounts[ruined % ofAccounts.length] ?? {}, { data: '{"cut' });
  return events;
}

const issued = (id: string): AccountEvent => keyIssued({ keyId: keyId(id), sha256: SECRET });

const factsOf = (sums: EventSums | null) => [
  ...[sums?.accounts, sums?.catalog, sums?.through, sums?.isWhole, sums?.unreadable],
];

describe('a ledger that is folded in parts', () => {
  it('comes to the same rows as by one thread, byte for byte, and to the same sums (any)', async () => {
    await fc.assert(
      fc.asyncProperty(story, async (told) => {
        const ledger = await ledgerFileOf(eventsOf(told));
        const byOne = viewsFile();
        await brought(ledger, { path: byOne });
        const right = dump(byOne);
        expect((await verifyRebuilt(byOne, ledger.log)).faults).toEqual([]);
        const sums = new EventSums();
        for await (const event of ledger.log.readAll()) sums.add(event);
        for (const parts of [1, 2, 3]) {
          const path = viewsFile();
          const { stretchPositions } = told;
          const done = await brought(ledger, { path, ledger: inParts(ledger.path, { parts, stretchPositions }) });
          expect(dump(path)).toEqual(right);
          expect([damageOfRows(path), wasClosedWhole(path)]).toEqual([null, true]);
          expect(currentAtMsOf(path)).not.toBeNull();
          expect(done.events).toBe(await ledger.log.headPosition());
          expect(factsOf(done.sums)).toEqual(factsOf(sums));
          expect((await verifyRebuilt(path, ledger.log, done.sums)).faults).toEqual([]);
        }
        await ledger.log.close();
      }),
      { numRuns: 6, endOnFailure: true },
    );
  });

  it.each([
    ['before', 'a1', 'a2'],
    ['behind', 'a2', 'a1'],
  ])(
    'leaves a key to the account that has it first, which another part folds: it stands %s the other',
    async (_, owner, thief) => {
      const log = exampleLog();
      for (const id of [owner, thief]) writeTo(log.inner, accountId(id), [issued(`key_of_${id}`)]);
      const ledger = await ledgerFileOf(log.inner.events);
      // One after another, so that no two of them are in one part.
      const streams = new DatabaseSync(ledger.path, { readOnly: true });
      const ids = ['a1', 'a2'].map(
        (id) => streams.prepare('SELECT id FROM stream WHERE name = ?').get(`account-${id}`)?.id,
      );
      streams.close();
      expect(Number(ids[1]) - Number(ids[0])).toBe(1);
      const path = viewsFile();
      const done = await brought(ledger, { path, ledger: inParts(ledger.path) });
      expect(readSetAside(path)).toMatchObject([
        { accountId: thief, why: expect.stringContaining('has the secret that another key had first') },
      ]);
      expect(dump(path)).toEqual(await whole(ledger));
      expect((await verifyRebuilt(path, ledger.log, done.sums)).faults).toEqual([]);
    },
  );

  it('goes on where it was written last, by another number of threads, and knows the keys of what it has not folded itself', async () => {
    const log = exampleLog();
    writeTo(log.inner, accountId('a1'), [issued('key_own')]);
    const first = [...log.inner.events];
    const ledger = await ledgerFileOf(first);
    const path = viewsFile();
    await brought(ledger, { path, ledger: inParts(ledger.path, { parts: 3 }) });
    writeTo(log.inner, accountId('a2'), [issued('key_thief')]);
    writeTo(log.inner, accountId('a3'), [{ type: 'PlanChanged', data: { plan: 'team', terms: null } }]);
    const more = log.inner.events.slice(first.length);
    await appendTo(ledger.log, more);
    const done = await brought(ledger, { path, ledger: inParts(ledger.path) });
    // Of part of the log no sums are told.
    expect(done).toEqual({ events: more.length, sums: null, isAll: true });
    expect(dump(path)).toEqual(await whole(ledger));
  });

  it('goes on with what came meanwhile as a gateway does, and its sums are of all', async () => {
    const { inner } = exampleLog();
    const first = inner.events.slice(0, -7);
    const ledger = await ledgerFileOf(first);
    const path = viewsFile();
    let isTold = false;
    const log = new Proxy(ledger.log, {
      get: (of, name) => {
        const is = Reflect.get(of, name);
        if (name !== 'headPosition') return typeof is === 'function' ? is.bind(of) : is;
        return async () => {
          const head = await of.headPosition();
          // Behind the first look, where it is told how far to fold.
          if (!isTold) await appendTo(of, inner.events.slice(first.length));
          isTold = true;
          return head;
        };
      },
    });
    const told: number[] = [];
    const onFolded = (events: number): number => told.push(events);
    const done = await brought(ledger, { log, path, ledger: inParts(ledger.path), onFolded });
    expect(done).toMatchObject({ events: inner.events.length, sums: { isWhole: true } });
    expect(told.reduce((sum, events) => sum + events, 0)).toBe(inner.events.length);
    expect(dump(path)).toEqual(await whole(ledger));
    expect((await verifyRebuilt(path, ledger.log, done.sums)).faults).toEqual([]);
  });
});

const EXAMPLE = (): readonly RecordedEvent[] => exampleLog().inner.events;

describe('nothing is folded in parts', () => {
  const untouched = async (ledger: LedgerFile, path: string, more: Partial<LedgerInParts> = {}) => {
    const missing = join(temporaryFolder(), 'none.db');
    return brought(ledger, { path, ledger: inParts(missing, more) });
  };

  it('where there is little to fold', async () => {
    const ledger = await ledgerFileOf(EXAMPLE());
    const { length } = EXAMPLE();
    const path = viewsFile();
    expect(await untouched(ledger, path, { from: length + 1 })).toMatchObject({ events: length });
    expect(dump(path)).toEqual(await whole(ledger));
    await expect(untouched(ledger, viewsFile(), { from: length })).rejects.toThrow(/does not exist/);
  });

  it('onto rows that cannot be relied on, or whose last event the log has elsewhere: one thread looks at them', async () => {
    const ledger = await ledgerFileOf(EXAMPLE());
    const path = viewsFile();
    await brought(ledger, { path });
    const other = join(dirname(path), 'other.db');
    cpSync(path, other);
    execute(path, `UPDATE monthly_v3 SET stamp = 7; DROP TABLE closed_whole`);
    expect(await untouched(ledger, path)).toMatchObject({ events: EXAMPLE().length });
    expect(dump(path)).toEqual(await whole(ledger));
    execute(other, `UPDATE checkpoint SET checkpoint = json_set(checkpoint, '$.id', '${'0'.repeat(8)}')`);
    await expect(untouched(ledger, other)).rejects.toThrow(/the ledger does not have that event/);
  });
});

describe('what cannot be folded in parts', () => {
  it('for an event of no account that nobody can read is told as it is, and nothing holds the file', async () => {
    const ledger = await ledgerFileOf(
      EXAMPLE().map((event) =>
        event.stream === CATALOG_STREAM && event.revision === 1 ? { ...event, data: '7' } : event,
      ),
    );
    const path = viewsFile();
    await expect(brought(ledger, { path, ledger: inParts(ledger.path) })).rejects.toThrow(UnreadableEventError);
    execute(path, 'BEGIN EXCLUSIVE; CREATE TABLE free (it INTEGER); COMMIT');
    expect(damageOfRows(path)).toBeNull();
  });

  it('because the file is not at its place is told as a fault of the log', async () => {
    const ledger = await ledgerFileOf(EXAMPLE());
    const path = viewsFile();
    const file = join(temporaryFolder(), 'ledger.db');
    const failed = await brought(ledger, { path, ledger: inParts(file) }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(EventLogError);
    expect(failed).toMatchObject({ kind: 'unavailable' });
  });

  it.runIf(canMount)('for want of room leaves what is kept free, and what was written before', async () => {
    const ledger = await ledgerFileOf(EXAMPLE());
    const disk = smallDisk(32 * 1_024);
    const path = join(dirname(disk.folder), 'views.db');
    const keepFreeBytes = freeBytesAt(dirname(path));
    const full = brought(ledger, { path, ledger: inParts(ledger.path), keepFreeBytes });
    await expect(full).rejects.toMatchObject({
      ...{ name: 'ViewsNotWrittenError', mayPass: true, isFull: true },
      message: expect.stringMatching(/ MiB are free, of which 32 MiB are kept for requests$/),
    });
    expect(readFoldedThrough(path)).toBeNull();
    await brought(ledger, { path, ledger: inParts(ledger.path), keepFreeBytes: keepFreeBytes - 8 * 1_024 ** 2 });
    expect(dump(path)).toEqual(await whole(ledger));
  });
});

afterAll(killStarted);

describe('kill -9', () => {
  it.each([
    ['while it folds on behind a write', 'folding'],
    ['with the rows of all parts handed over, and not written', 'writing'],
    ['with some of one part handed over alone', 'handing over'],
  ])('%s, leaves what was written before, which is gone on with', async (_when, instant) => {
    const ledger = await ledgerFileOf(EXAMPLE());
    const path = viewsFile();
    const stderrFd = openSync(join(temporaryFolder(), 'stderr'), 'w');
    const { child } = startProcess([MAIN, ledger.path, path, instant], { stderrFd });
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
    const { length } = EXAMPLE();
    const at = readFoldedThrough(path)?.position ?? 0;
    expect([at > 0, at < length]).toEqual([true, true]);
    expect(damageOfRows(path)).toBeNull();
    const again = await brought(ledger, { path, ledger: inParts(ledger.path, { parts: 3 }) });
    expect(again).toMatchObject({ events: length - at, sums: null });
    expect(dump(path)).toEqual(await whole(ledger));
  });
});
