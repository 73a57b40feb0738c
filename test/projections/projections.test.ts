import assert from 'node:assert/strict';
import { describe, expect, test, vi } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import {
  accountId,
  CATALOG_STREAM,
  commandId,
  position,
  relayStream,
  revision,
  type StreamName,
} from '../../contracts/ids.ts';
import { Projections } from '../../projections/projections.ts';
import type { ViewSource, ViewSourceOptions } from '../../projections/sources/view-source.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { KEY } from '../fixtures/ledger/example-account.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { collect } from '../fixtures/ledger/shared-log.ts';
import { inTurnsThroughout, passing, turns, until } from '../fixtures/ledger/turns.ts';
import { dump, positionOf, secretOf, viewsFile, writeLives, writeTo } from './example-ledger.ts';
import {
  A,
  ALL,
  caughtUp,
  checkpointAt,
  expectWhole,
  head,
  LIVES,
  logOf,
  start,
  writeUnknown,
} from './started-projections.ts';

inTurnsThroughout();

describe('projections', () => {
  test('catch up with everything that the log holds', async () => {
    const log = logOf();
    const { projections } = await start(log, viewsFile());
    expect(projections.isLive).toBe(false);
    await passing(projections.whenCaughtUp());
    expect([projections.isLive, positionOf(projections)]).toEqual([true, head(log)]);
    expectWhole(projections);
  });

  test('follow the log from then on', async () => {
    const log = logOf(0, 9);
    const { projections } = await caughtUp(log);
    writeLives(log, LIVES, 9, ALL);
    await passing(projections.whenAt(head(log)));
    expectWhole(projections);
  });

  test('tell when they hold a position, and not before', async () => {
    const log = logOf(0, 9);
    const { projections } = await caughtUp(log);
    await expect(projections.whenAt(head(log))).resolves.toBeUndefined();
    const next = position(head(log) + 10);
    const seen: string[] = [];
    const waiting = projections.whenAt(next).then(() => seen.push(`there at ${positionOf(projections)}`));
    const later = projections.whenAt(position(next + 10)).then(() => seen.push('later'));
    await turns();
    expect(seen).toEqual([]);
    writeTo(log, A, [{ type: 'PlanChanged', data: { plan: 'team', terms: null } }]);
    await passing(waiting);
    expect(seen).toEqual([`there at ${next}`]);
    writeTo(log, A, [{ type: 'PlanChanged', data: { plan: 'solo', terms: null } }]);
    await passing(later);
    expect(seen).toHaveLength(2);
  });

  test('pass over what is of no view: a relay’s claims, the streams of others', async () => {
    const log = logOf(0, 9);
    const path = viewsFile();
    const [template] = log.events;
    if (template === undefined) throw new Error('an empty log');
    const claim = exampleOf('RelayClaimed');
    log.write(relayStream('ledger'), [{ ...template, type: claim.type, data: JSON.stringify(claim.data) }]);
    log.write('invoice-7' as StreamName, [{ ...template, type: 'InvoiceSent', data: 'not even JSON', metadata: '' }]);
    const { projections, stopped, close } = await caughtUp(log, path);
    expect(positionOf(projections)).toBe(head(log));
    await close();
    expect(stopped).toEqual([]);
    expect(dump(path)).toContain(checkpointAt(log));
  });

  test('fold a long batch in several turns, so that what comes next is read meanwhile', async () => {
    const log = logOf(0, 9);
    const opened = Promise.withResolvers<ViewSourceOptions>();
    const source: ViewSource = {
      isLedger: true,
      name: 'a test',
      throughOf: () => null,
      open: (options) => {
        opened.resolve(options);
        return { close: async () => undefined };
      },
    };
    endedLater(await Projections.start({ log, source, path: null, persist: false }));
    const [event] = await collect(log.readAll({ limit: 1 }));
    assert(event !== undefined);
    const count = 500;
    const events = Array.from({ length: count }, () => ({ ...event, stream: 'other-1' as StreamName }));
    let turnsMeanwhile = 0;
    let isDone = false;
    setImmediate(function turn() {
      turnsMeanwhile++;
      if (!isDone) setImmediate(turn);
    });
    await (await opened.promise).onBatch({ events, through: null, checkpoint: () => '' });
    isDone = true;
    expect(turnsMeanwhile).toBeGreaterThanOrEqual(8);
  });

  test('do not repeat what their process has folded already', async () => {
    const log = logOf(0, 9);
    const { projections, stopped } = await caughtUp(log);
    const told: string[] = [];
    projections.accounts.onFolded((id, event) => told.push(`${id} ${event.type}`));
    const at = projections.accounts.read(A).revision;
    const plan = { type: 'PlanChanged', data: { plan: 'team', terms: null } } as const;
    projections.accounts.fold(A, revision(at + 1), plan);
    writeTo(log, A, [plan]);
    await passing(projections.whenAt(head(log)));
    expect(told).toEqual(['a0 PlanChanged']);
    expect(projections.accounts.read(A).revision).toBe(at + 1);
    expect(stopped).toEqual([]);
  });

  test('know the keys of all accounts, new or restored', async () => {
    const path = viewsFile();
    const log = logOf();
    const ownersIn = ({ accounts }: Projections) =>
      ['a0', 'a1', 'a2', 'a3'].map((id) => accounts.keys.find(secretOf(accountId(id), KEY))?.accountId);
    const first = await caughtUp(log, path);
    expect(ownersIn(first.projections)).toEqual(['a0', 'a1', 'a2', 'a3']);
    await first.close();
    const { projections } = await start(log, path);
    expect(ownersIn(projections)).toEqual(['a0', 'a1', 'a2', 'a3']);
  });

  test('follow the catalog', async () => {
    const log = logOf(0, 3);
    const publish = (number: number) =>
      log.write(
        CATALOG_STREAM,
        encodeEvents(
          [{ ...exampleOf('CatalogPublished'), data: { ...exampleOf('CatalogPublished').data, version: number } }],
          {
            commandId: commandId(`019a5b3c-8888-7000-8000-${String(number).padStart(12, '0')}`),
            actor: 'operator',
            recordedAt: '2026-11-05T10:00:00.000Z',
          },
        ),
      );
    publish(1);
    const path = viewsFile();
    const { projections, close } = await caughtUp(log, path);
    expect(projections.catalog.state.version).toBe(1);
    publish(2);
    await passing(projections.whenAt(head(log)));
    expect(projections.catalog.state.version).toBe(2);
    await close();
    const read = vi.spyOn(log, 'readStream');
    const again = await start(log, path);
    expect(again.projections.catalog.state).toEqual(projections.catalog.state);
    await passing(again.projections.whenCaughtUp());
    expect(read).not.toHaveBeenCalledWith(CATALOG_STREAM);
  });
});

// Of an account it sets that aside alone (unreadable-events.test.ts).
describe('an event of the catalog that cannot be folded', () => {
  test('because it does not belong there stops the projections, and is told', async () => {
    const log = logOf(0, 9);
    const granted = log.events.find(({ type }) => type === 'CreditsGranted');
    if (granted === undefined) throw new Error('nothing is granted');
    log.write(CATALOG_STREAM, [{ ...granted, type: 'PlanChanged', data: '{"plan":"team"}' }]);
    const { projections, stopped } = await start(log, viewsFile());
    await expect(passing(projections.whenCaughtUp())).rejects.toThrow(/catalog: PlanChanged does not belong there/);
    expect(stopped).toHaveLength(1);
  });

  test('during catch-up is told to whoever waits for its end', async () => {
    const log = logOf(0, 9);
    writeUnknown(log);
    const { projections, stopped } = await start(log, viewsFile());
    await expect(passing(projections.whenCaughtUp())).rejects.toThrow(/catalog revision 0 \(CreditsConjured\)/);
    expect(stopped).toHaveLength(1);
  });

  test('does not leave those who wait for a later position waiting for ever', async () => {
    const log = logOf(0, 9);
    const { projections, stopped } = await caughtUp(log);
    const ends: string[] = [];
    projections.whenAt(position(head(log) + 100)).then(
      () => ends.push('there'),
      () => ends.push('stopped'),
    );
    writeUnknown(log);
    await until(() => stopped.length > 0);
    await turns();
    expect(ends).toEqual(['stopped']);
    await expect(projections.whenAt(position(head(log) + 100))).rejects.toThrow(/CreditsConjured/);
  });
});
