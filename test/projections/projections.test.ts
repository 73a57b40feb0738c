import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import {
  accountId,
  accountStream,
  CATALOG_STREAM,
  commandId,
  position,
  relayStream,
  revision,
  type StreamName,
} from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { Projections } from '../../projections/projections.ts';
import { exampleOf } from '../contracts/example-events.ts';
import { MemoryEventLog } from '../ledger/settlement/memory-event-log.ts';
import { passing, turns, until } from '../ledger/settlement/turns.ts';
import { dump, exampleLives, execute, foldAll, viewsFile, writeLives, writeTo } from './example-ledger.ts';

beforeAll(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
// Not after each test: closing at the end of a test still takes time.
afterAll(() => {
  vi.useRealTimers();
});

const LIVES = exampleLives(4);
const ALL = Math.max(...[...LIVES.values()].map((events) => events.length));
const A = accountId('a0');

interface Started {
  readonly projections: Projections;
  readonly stopped: Error[];
  /** As often as one likes; the end of the test closes, too. */
  readonly close: () => Promise<void>;
}
async function start(log: MemoryEventLog, path: string, persist = true): Promise<Started> {
  const stopped: Error[] = [];
  const projections = await passing(
    Projections.start({ log, path, persist, onStopped: (error) => stopped.push(error) }),
  );
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => {
    closing ??= projections.close();
    return passing(closing);
  };
  onTestFinished(close);
  return { projections, stopped, close };
}
function logOf(from = 0, to = ALL): MemoryEventLog {
  const log = new MemoryEventLog();
  writeLives(log, LIVES, from, to);
  return log;
}
/** The row that says that everything in the log is folded. */
function checkpointAt({ events }: MemoryEventLog): string {
  const last = events.at(-1);
  if (last === undefined) throw new Error('an empty log');
  const { position, stream, revision, id } = last;
  return `checkpoint ${JSON.stringify({ one: 1, feed: 'log', checkpoint: JSON.stringify({ position, stream, revision, id }) })}`;
}
const head = (log: MemoryEventLog) => log.events.at(-1)?.position ?? position(-1);
function expectWhole({ accounts }: Projections): void {
  const whole = new AccountViews();
  foldAll(whole, LIVES);
  for (const id of LIVES.keys()) {
    expect(accounts.read(id)).toEqual(whole.read(id));
    expect(new Set(accounts.monthly.linesOf(id, '2027-01'))).toEqual(new Set(whole.monthly.linesOf(id, '2027-01')));
    expect(accounts.spendLimits.ofAccount(id, '2027-01')).toEqual(whole.spendLimits.ofAccount(id, '2027-01'));
  }
}

describe('projections', () => {
  test('catch up with everything that the log holds', async () => {
    const log = logOf();
    const { projections } = await start(log, viewsFile());
    expect(projections.caughtUp).toBe(false);
    await passing(projections.whenCaughtUp());
    expect([projections.caughtUp, projections.position]).toEqual([true, head(log)]);
    expectWhole(projections);
  });

  test('follow the log from then on', async () => {
    const log = logOf(0, 9);
    const { projections } = await start(log, viewsFile());
    await passing(projections.whenCaughtUp());
    writeLives(log, LIVES, 9, ALL);
    await passing(projections.whenAt(head(log)));
    expectWhole(projections);
  });

  test('tell when they hold a position, and not before', async () => {
    const log = logOf(0, 9);
    const { projections } = await start(log, viewsFile());
    await passing(projections.whenCaughtUp());
    await expect(projections.whenAt(head(log))).resolves.toBeUndefined();
    const next = position(head(log) + 10);
    const seen: string[] = [];
    const waiting = projections.whenAt(next).then(() => seen.push(`there at ${projections.position}`));
    const later = projections.whenAt(position(next + 10)).then(() => seen.push('later'));
    await turns();
    expect(seen).toEqual([]);
    writeTo(log, A, [{ type: 'PlanChanged', data: { plan: 'team' } }]);
    await passing(waiting);
    expect(seen).toEqual([`there at ${next}`]);
    writeTo(log, A, [{ type: 'PlanChanged', data: { plan: 'solo' } }]);
    await passing(later);
    expect(seen).toHaveLength(2);
  });

  test('tell when they hold a revision of an account, from wherever it came', async () => {
    const log = logOf(0, 9);
    const { projections } = await start(log, viewsFile());
    await passing(projections.whenCaughtUp());
    const at = projections.accounts.read(A).revision;
    await expect(projections.whenFolded(A, at)).resolves.toBeUndefined();
    const seen: string[] = [];
    const onEnd = (error: Error): number => seen.push(error.message);
    projections.whenFolded(A, revision(at + 1)).then(() => seen.push('first'), onEnd);
    projections.whenFolded(A, revision(at + 2)).then(() => seen.push('second'), onEnd);
    projections.whenFolded(A, revision(at + 9)).then(() => seen.push('ninth'), onEnd);
    writeTo(log, accountId('a1'), [{ type: 'PlanChanged', data: { plan: 'team' } }]);
    await passing(projections.whenAt(head(log)));
    expect(seen).toEqual([]);
    // An own append, which its process folds before it comes back.
    projections.accounts.fold(A, revision(at + 1), { type: 'PlanChanged', data: { plan: 'team' } });
    await turns(1);
    expect(seen).toEqual(['first']);
    writeTo(
      log,
      A,
      ['team', 'solo'].map((plan) => ({ type: 'PlanChanged', data: { plan } }) as const),
    );
    await until(() => seen.length > 1);
    await passing(projections.close());
    await turns(1);
    expect(seen).toEqual(['first', 'second', 'the projections are closed']);
  });

  test('pass over what is of no view: a relay’s claims, seals, the streams of others', async () => {
    const log = logOf(0, 9);
    const path = viewsFile();
    const [template] = log.events;
    if (template === undefined) throw new Error('an empty log');
    const claim = exampleOf('RelayClaimed');
    log.write(relayStream('ledger'), [{ ...template, type: claim.type, data: JSON.stringify(claim.data) }]);
    log.write('seals' as StreamName, [{ ...template, type: 'LedgerSealed', data: '{}' }]);
    log.write('invoice-7' as StreamName, [{ ...template, type: 'InvoiceSent', data: 'not even JSON', metadata: '' }]);
    const { projections, stopped, close } = await start(log, path);
    await passing(projections.whenCaughtUp());
    expect(projections.position).toBe(head(log));
    await close();
    expect(stopped).toEqual([]);
    expect(dump(path)).toContain(checkpointAt(log));
  });

  test('do not repeat what their process has folded already', async () => {
    const log = logOf(0, 9);
    const { projections, stopped } = await start(log, viewsFile());
    await passing(projections.whenCaughtUp());
    const told: string[] = [];
    projections.accounts.onFolded((id, event) => told.push(`${id} ${event.type}`));
    const at = projections.accounts.read(A).revision;
    const plan = { type: 'PlanChanged', data: { plan: 'team' } } as const;
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
      [0, 1, 2, 3].map((number) => accounts.keys.find(`${number}a`.repeat(32))?.accountId);
    const first = await start(log, path);
    await passing(first.projections.whenCaughtUp());
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
    const { projections, close } = await start(log, path);
    await passing(projections.whenCaughtUp());
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

describe('who waits for the file', () => {
  const planOf = (path: string): string[] => dump(path).filter((row) => row.includes('enterprise'));

  test('goes on when it has what the views hold, also what did not come by the feed', async () => {
    const log = logOf();
    const path = viewsFile();
    const { projections } = await start(log, path);
    await passing(projections.whenCaughtUp());
    await passing(projections.whenWritten());
    const { revision: last } = projections.accounts.read(A);
    projections.accounts.fold(A, revision(last + 1), { type: 'PlanChanged', data: { plan: 'enterprise' } });
    expect(planOf(path)).toEqual([]);
    await passing(projections.whenWritten());
    expect(planOf(path)).toHaveLength(1);
  });

  test('is told where it will not be written any more', async () => {
    const { projections, close } = await start(logOf(), viewsFile());
    await passing(projections.whenCaughtUp());
    await close();
    await expect(projections.whenWritten()).rejects.toThrow(/not written any more/);
    const reader = await start(logOf(), viewsFile(), false);
    await expect(reader.projections.whenWritten()).rejects.toThrow(/not written/);
  });

  test('is told so when the projections have stopped and are closed', async () => {
    const log = logOf();
    const { projections, stopped, close } = await start(log, viewsFile());
    await passing(projections.whenCaughtUp());
    const [template] = log.events;
    if (template === undefined) throw new Error('an empty log');
    log.write(accountStream(A), [{ ...template, type: 'CreditsConjured' }]);
    await until(() => stopped.length > 0);
    const written = projections.whenWritten().catch((error: unknown) => error);
    await close();
    expect(await written).toBeInstanceOf(Error);
  });

  test('goes on with the last write, when the projections are closed', async () => {
    const { projections, close } = await start(logOf(), viewsFile());
    await passing(projections.whenCaughtUp());
    const written = projections.whenWritten();
    await close();
    await expect(written).resolves.toBeUndefined();
  });
});

describe('an event that cannot be folded', () => {
  const unreadable = [
    ['is of an unknown type', { type: 'CreditsConjured', data: '{}' }],
    ['is not of its form', { type: 'PlanChanged', data: '{"plan":7}' }],
    ['belongs to another stream', { type: 'LedgerSealed', data: JSON.stringify(exampleOf('LedgerSealed').data) }],
    ['cannot follow', { type: 'AccountOpened', data: JSON.stringify({ ...exampleOf('AccountOpened').data }) }],
  ] as const;

  test.each(unreadable)(
    'because it %s stops the projections and is told, and is never passed over',
    async (_what, wrong) => {
      const log = logOf(0, 9);
      const { projections, stopped } = await start(log, viewsFile());
      await passing(projections.whenCaughtUp());
      const [template] = log.events;
      if (template === undefined) throw new Error('an empty log');
      const before = projections.accounts.read(A);
      log.write(accountStream(A), [{ id: template.id, metadata: template.metadata, ...wrong }]);
      writeTo(log, A, [{ type: 'PlanChanged', data: { plan: 'team' } }]);
      await until(() => stopped.length > 0);
      expect(stopped).toHaveLength(1);
      expect(projections.caughtUp).toBe(false);
      expect(projections.accounts.read(A)).toEqual(before);
    },
  );

  test('because it does not belong into the catalog stops the projections, too', async () => {
    const log = logOf(0, 9);
    const [template] = log.events;
    if (template === undefined) throw new Error('an empty log');
    log.write(CATALOG_STREAM, [{ ...template, type: 'PlanChanged', data: '{"plan":"team"}' }]);
    const { projections, stopped } = await start(log, viewsFile());
    await expect(passing(projections.whenCaughtUp())).rejects.toThrow(/catalog: PlanChanged does not belong there/);
    expect(stopped).toHaveLength(1);
  });

  test('during catch-up is told to whoever waits for its end', async () => {
    const log = logOf(0, 9);
    const [template] = log.events;
    if (template === undefined) throw new Error('an empty log');
    log.write(accountStream(A), [{ ...template, type: 'CreditsConjured', data: '{}' }]);
    const { projections, stopped } = await start(log, viewsFile());
    await expect(passing(projections.whenCaughtUp())).rejects.toThrow(/account-a0 revision 9 \(CreditsConjured\)/);
    expect(stopped).toHaveLength(1);
  });

  test('does not leave those who wait for a later position waiting for ever', async () => {
    const log = logOf(0, 9);
    const { projections, stopped } = await start(log, viewsFile());
    await passing(projections.whenCaughtUp());
    const ends: string[] = [];
    projections.whenAt(position(head(log) + 100)).then(
      () => ends.push('there'),
      () => ends.push('stopped'),
    );
    const [template] = log.events;
    if (template === undefined) throw new Error('an empty log');
    log.write(accountStream(A), [{ ...template, type: 'CreditsConjured', data: '{}' }]);
    await until(() => stopped.length > 0);
    await turns();
    expect(ends).toEqual(['stopped']);
    await expect(projections.whenAt(position(head(log) + 100))).rejects.toThrow(/CreditsConjured/);
  });
});

describe('the file of the views', () => {
  test('is written while the views change, and at the end', async () => {
    const path = viewsFile();
    const log = logOf(0, 9);
    const { projections, close } = await start(log, path);
    await passing(projections.whenCaughtUp());
    await turns(LIMITS.viewFlushMs);
    await until(() => dump(path).some((row) => row.startsWith('checkpoint ')));
    expect(dump(path)).toContain(checkpointAt(log));
    writeLives(log, LIVES, 9, ALL);
    await passing(projections.whenAt(head(log)));
    await close();
    expect(dump(path)).toContain(checkpointAt(log));
  });

  test('spares a restart the events that it holds already', async () => {
    const path = viewsFile();
    const log = logOf(0, 9);
    const first = await start(log, path);
    await passing(first.projections.whenCaughtUp());
    await first.close();
    const at = head(log);
    writeTo(log, A, [{ type: 'PlanChanged', data: { plan: 'team' } }]);
    const subscribe = vi.spyOn(log, 'subscribeAll');
    const { projections } = await start(log, path);
    expect(subscribe.mock.calls.map(([{ after }]) => after)).toEqual([at]);
    await passing(projections.whenCaughtUp());
    expect(projections.position).toBe(head(log));
  });

  test('is left alone by a reader beside a running gateway', async () => {
    const path = viewsFile();
    const log = logOf();
    const first = await start(log, path);
    await passing(first.projections.whenCaughtUp());
    await first.close();
    const before = dump(path);
    writeTo(log, A, [{ type: 'PlanChanged', data: { plan: 'team' } }]);
    const reader = await start(log, path, false);
    await passing(reader.projections.whenCaughtUp());
    expect(reader.projections.position).toBe(head(log));
    await reader.close();
    expect(dump(path)).toEqual(before);
  });

  test('can be deleted at any time: rebuilt, every row of it is the same, byte for byte', async () => {
    const path = viewsFile();
    const log = logOf(0, 7);
    // Written in many pieces, over restarts.
    for (const [from, to] of [
      [7, 13],
      [13, 21],
      [21, ALL],
    ] as const) {
      const { projections, close } = await start(log, path);
      await passing(projections.whenCaughtUp());
      writeLives(log, LIVES, from, to);
      await passing(projections.whenAt(head(log)));
      await close();
    }
    const before = dump(path);
    expect(before.length).toBeGreaterThan(3 * LIVES.size);
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    const rebuilt = await start(log, path);
    await passing(rebuilt.projections.whenCaughtUp());
    await rebuilt.close();
    expect(dump(path)).toEqual(before);
  });

  test('of another log is not believed', async () => {
    const path = viewsFile();
    const first = await start(logOf(), path);
    await passing(first.projections.whenCaughtUp());
    await first.close();
    const shorter = logOf(0, 9);
    const { projections, close } = await start(shorter, path);
    await passing(projections.whenCaughtUp());
    for (const id of LIVES.keys()) expect(projections.accounts.read(id).revision).toBe(8);
    await close();
    const anew = viewsFile();
    const second = await start(shorter, anew);
    await passing(second.projections.whenCaughtUp());
    await second.close();
    expect(dump(path)).toEqual(dump(anew));
  });

  test('that cannot be written stops the projections, and is told', async () => {
    const path = viewsFile();
    const log = logOf(0, 9);
    const { projections, stopped } = await start(log, path);
    execute(path, 'DROP TABLE monthly_v1');
    await passing(projections.whenCaughtUp());
    await turns(LIMITS.viewFlushMs);
    await until(() => stopped.length > 0);
    expect(stopped.map(String)).toEqual([expect.stringMatching(/the views were not written/)]);
    expect(projections.caughtUp).toBe(false);
  });
});
