import { describe, expect, test } from 'vitest';
import { decodeMetadata } from '../../../contracts/event-codec.ts';
import { EventLogError } from '../../../contracts/event-log.ts';
import { accountStream, commandOfRequest, eventIdOf } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { rateCard } from '../../../contracts/rate-card.ts';
import { CARD, KEY, requestOf, usageOf } from '../../fixtures/ledger/example-account.ts';
import {
  account,
  billed,
  bookEqualsLog,
  eventsOf,
  foldInto,
  foreignGrant,
  nextFaults,
  once,
  promptScene,
  recordedElsewhere,
  submit,
  usages,
} from '../../fixtures/ledger/settlement-scene.ts';
import { inTurns, passing, turns, until } from '../../fixtures/ledger/turns.ts';

inTurns();

const A = account(0);
const B = account(1);
const C = account(2);

describe('a finished request', () => {
  test('is told as settled once, when its usage and debit are in the ledger and in the repository', async () => {
    const scene = await promptScene(1);
    const told: unknown[] = [];
    scene.repository.onFolded((_, event) => told.push(event.type));
    submit(scene, A, usageOf(1, 3));
    expect([scene.settlement.pending, scene.settled]).toEqual([1, []]);
    await passing(scene.settlement.idle());
    expect(billed(scene)).toEqual(once([usageOf(1, 3)]));
    expect(scene.settled).toEqual([requestOf(1)]);
    expect(scene.settlement.pending).toBe(0);
    expect(told).toEqual(['UsageRecorded', 'CreditsDebited']);
    expect(await bookEqualsLog(scene, A)).toBe(true);
  });

  test('has events whose ids and metadata come from the request, so that any writer would make the same', async () => {
    const scene = await promptScene(1);
    submit(scene, A, ...usages(1, 2));
    await passing(scene.settlement.idle());
    const written = scene.log.events.slice(-4);
    const commands = [1, 1, 2, 2].map((number) => commandOfRequest(requestOf(number)));
    expect(written.map(({ id }) => id)).toEqual(commands.map((command, index) => eventIdOf(command, index % 2)));
    expect(written.map((event) => decodeMetadata(event))).toEqual(
      commands.map((command) => ({
        schemaVersion: 2,
        commandId: command,
        actor: KEY,
        recordedAt: '2026-11-06T12:00:02.000Z',
      })),
    );
  });

  test('that is not charged is settled by its usage alone', async () => {
    const scene = await promptScene(1);
    submit(scene, A, usageOf(1, 3, { billable: false }), usageOf(2, 0));
    await passing(scene.settlement.idle());
    expect(billed(scene)).toEqual(
      new Map([
        [requestOf(1), '1/0'],
        [requestOf(2), '1/0'],
      ]),
    );
    expect(scene.settled).toEqual([requestOf(1), requestOf(2)]);
  });

  test('that is submitted twice is settled once', async () => {
    const scene = await promptScene(1);
    submit(scene, A, usageOf(1, 3), usageOf(1, 3));
    await turns(1);
    submit(scene, A, usageOf(1, 3));
    await passing(scene.settlement.idle());
    expect(billed(scene)).toEqual(once([usageOf(1, 3)]));
    expect(scene.settled).toEqual([requestOf(1)]);
  });

  test('that the subscription brings before its append starts needs none', async () => {
    const scene = await promptScene(1);
    submit(scene, A, usageOf(1, 3));
    recordedElsewhere(scene, A, usageOf(1, 3));
    for (const recorded of scene.log.events.slice(-2)) foldInto(scene.repository, recorded);
    await passing(scene.settlement.idle());
    await turns();
    expect(scene.log.appends).toBe(0);
    expect(scene.settled).toEqual([requestOf(1)]);
  });

  test('is not settled by its usage alone where a debit belongs to it', async () => {
    const scene = await promptScene(1);
    submit(scene, A, usageOf(1, 3));
    recordedElsewhere(scene, A, usageOf(1, 3));
    const [usage, debit] = scene.log.events.slice(-2);
    if (usage === undefined || debit === undefined) throw new Error('not written');
    foldInto(scene.repository, usage);
    await turns();
    expect([scene.settled, scene.log.appends]).toEqual([[], 0]);
    foldInto(scene.repository, debit);
    expect(scene.settled).toEqual([requestOf(1)]);
  });
});

describe('requests of one account', () => {
  test('that finish together are settled by one append, each on the state that the one before leaves', async () => {
    const scene = await promptScene(1);
    const all = usages(1, 20);
    submit(scene, A, ...all);
    await passing(scene.settlement.idle());
    expect(scene.log.appends).toBe(1);
    expect(billed(scene)).toEqual(once(all));
    const balances = eventsOf(scene, A).flatMap((event) =>
      event.type === 'CreditsDebited' ? [event.data.balanceAfter] : [],
    );
    let balance = 1_000_000n;
    expect(balances).toEqual(all.map(({ tokens }) => (balance -= BigInt(tokens.output))));
  });

  test('that finish a little later share the append, until its account has waited long enough', async () => {
    const scene = await promptScene(1);
    submit(scene, A, usageOf(1, 1));
    await turns(LIMITS.settlementLingerMs - 1);
    submit(scene, A, usageOf(2, 1));
    expect(scene.log.appends).toBe(0);
    await turns(1);
    expect(scene.log.appends).toBe(1);
    submit(scene, A, usageOf(3, 1));
    await passing(scene.settlement.idle());
    expect(scene.log.appends).toBe(2);
    expect(billed(scene)).toEqual(once(usages(1, 3)));
  });

  test('that fill a group do not wait', async () => {
    const scene = await promptScene(1);
    submit(scene, A, ...usages(1, LIMITS.settlementGroupMax));
    expect(scene.log.appends).toBe(1);
    await passing(scene.settlement.idle());
    expect(scene.log.appends).toBe(1);
  });

  test('that would be too much for one append are settled by several', async () => {
    const scene = await promptScene(1);
    const model = 'm'.repeat(LIMITS.appendBytesMax / 20);
    const all = usages(1, 24).map((usage) => ({ ...usage, model }));
    const sizes: number[] = [];
    scene.log.faults = (_stream, events) => {
      sizes.push(
        events.reduce((sum, { data, metadata }) => sum + Buffer.byteLength(data) + Buffer.byteLength(metadata), 0),
      );
      return { type: 'none' };
    };
    submit(scene, A, ...all);
    await passing(scene.settlement.idle());
    expect(sizes.length).toBeGreaterThan(1);
    for (const size of sizes) expect(size).toBeLessThan(LIMITS.appendBytesMax);
    expect(billed(scene)).toEqual(once(all));
    expect(scene.settled).toEqual(all.map(({ requestId }) => requestId));
  });

  test('are settled in groups of a bounded number, in the order in which they finished', async () => {
    const scene = await promptScene(1);
    const all = usages(1, 2 * LIMITS.settlementGroupMax + 1);
    submit(scene, A, ...all);
    await passing(scene.settlement.idle());
    expect(scene.log.appends).toBe(3);
    expect(scene.settled).toEqual(all.map(({ requestId }) => requestId));
  });

  test('are never in two appends at a time', async () => {
    const scene = await promptScene(1);
    const gate = Promise.withResolvers<void>();
    nextFaults(scene, { type: 'stall', until: gate.promise });
    submit(scene, A, usageOf(1, 1));
    await turns();
    submit(scene, A, usageOf(2, 1));
    await turns();
    expect(scene.log.appends).toBe(1);
    gate.resolve();
    await passing(scene.settlement.idle());
    expect([scene.log.appends, scene.log.underWayMax]).toEqual([2, 1]);
  });
});

describe('other accounts', () => {
  test('that finish in the meantime are appended at the same instant, so that the log commits them together', async () => {
    const scene = await promptScene(3);
    submit(scene, A, usageOf(1, 1));
    await turns(LIMITS.settlementLingerMs - 1);
    submit(scene, B, usageOf(2, 1));
    expect(scene.log.appends).toBe(0);
    await turns(1);
    expect([scene.log.appends, scene.log.underWayMax]).toEqual([2, 2]);
    // Whoever comes after that waits for the whole time again.
    submit(scene, C, usageOf(3, 1));
    await turns(LIMITS.settlementLingerMs - 1);
    expect(scene.log.appends).toBe(2);
    await passing(scene.settlement.idle());
    expect(scene.log.appends).toBe(3);
  });

  test('are not held up by one whose append stalls', async () => {
    const scene = await promptScene(2);
    const gate = Promise.withResolvers<void>();
    scene.log.faults = (stream) =>
      stream === accountStream(A) ? { type: 'stall', until: gate.promise } : { type: 'none' };
    submit(scene, A, usageOf(1, 1));
    submit(scene, B, usageOf(2, 1));
    await until(() => scene.settled.length === 1);
    expect(scene.settled).toEqual([requestOf(2)]);
    gate.resolve();
    await passing(scene.settlement.idle());
  });

  test('are not held up by one that conflicts without end', async () => {
    const scene = await promptScene(2);
    let foreign = 0;
    let conflicts = true;
    scene.log.faults = (stream) =>
      conflicts && stream === accountStream(A)
        ? { type: 'precede', events: foreignGrant(++foreign) }
        : { type: 'none' };
    submit(scene, A, usageOf(1, 1));
    submit(scene, B, ...usages(2, 100));
    await until(() => scene.settled.length === 100);
    expect(scene.settled).not.toContain(requestOf(1));
    conflicts = false;
    await passing(scene.settlement.idle());
    expect(billed(scene)).toEqual(once([usageOf(1, 1), ...usages(2, 100)]));
  });

  test('share a bounded number of appends, and none is forgotten', async () => {
    const count = 3 * LIMITS.settlementAppendsMax + 5;
    const scene = await promptScene(count);
    const gate = Promise.withResolvers<void>();
    scene.log.faults = () => ({ type: 'stall', until: gate.promise });
    const all = usages(1, count);
    for (const [number, usage] of all.entries()) submit(scene, account(number), usage);
    await turns();
    expect([scene.log.appends, scene.log.underWayMax]).toEqual([
      LIMITS.settlementAppendsMax,
      LIMITS.settlementAppendsMax,
    ]);
    gate.resolve();
    await passing(scene.settlement.idle());
    expect(scene.log.underWayMax).toBe(LIMITS.settlementAppendsMax);
    expect(billed(scene)).toEqual(once(all));
  });
});

describe('a request that cannot be decided', () => {
  test('or that the log will never take, is told as stuck; those of its group that it takes are settled', async () => {
    const scene = await promptScene(1);
    const append = scene.log.append.bind(scene.log);
    scene.log.append = (stream, expected, events) => {
      const isTooLong = events.some(({ data }) => data.includes(requestOf(2)));
      return isTooLong
        ? Promise.reject(new EventLogError('invalid', 'over the limits'))
        : append(stream, expected, events);
    };
    submit(scene, A, usageOf(1, 1), usageOf(2, 1), usageOf(3, 1));
    await passing(scene.settlement.idle());
    expect(scene.stuck.map(({ requestId }) => requestId)).toEqual([requestOf(2)]);
    expect(scene.settled).toEqual([requestOf(1), requestOf(3)]);
    expect(billed(scene)).toEqual(once([usageOf(1, 1), usageOf(3, 1)]));
  });

  test('is told as stuck, and does not hold up the others', async () => {
    const scene = await promptScene(1);
    submit(scene, A, usageOf(1, 1));
    scene.settlement.submit({
      accountId: A,
      usage: usageOf(2, 1),
      card: rateCard('other', 1, CARD.rates, null),
      leaseId: null,
    });
    submit(scene, A, usageOf(3, -1), usageOf(4, 1));
    submit(scene, account(9), usageOf(5, 1));
    await passing(scene.settlement.idle());
    expect(scene.stuck.map(({ requestId }) => requestId).sort()).toEqual([requestOf(2), requestOf(3), requestOf(5)]);
    expect(scene.stuck.map(({ error }) => String(error))).toEqual([
      expect.stringMatching(/names rate card/),
      expect.stringMatching(/tokens must be a whole number/),
      expect.stringMatching(/a9: there is no such account/),
    ]);
    expect(scene.settled).toEqual([requestOf(1), requestOf(4)]);
    expect(billed(scene)).toEqual(once([usageOf(1, 1), usageOf(4, 1)]));
    expect(scene.away).toEqual([]);
  });
});

test('idle resolves at once where nothing is pending', async () => {
  const scene = await promptScene(0);
  await expect(scene.settlement.idle()).resolves.toBeUndefined();
});
