import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventId, revision, SEALS_STREAM, type StreamName } from '../../../contracts/ids.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { LeafFile, LeafFileWriter } from '../../../ledger/seals/leaf-file.ts';
import { type SealVerdict, type VerifySealsOptions, verifySeals } from '../../../ledger/seals/verify-seals.ts';
import { fillLedger } from '../../bench/fill-ledger.ts';
import { otherBase64Of } from '../../fixtures/ledger/other-base64.ts';
import {
  introductionRow,
  logOf,
  newTestKey,
  type Row,
  rowsOf,
  sealed,
  sealOf,
  sealsIn,
  signedSealRow,
  writeRows,
} from '../../fixtures/ledger/sealed-rows.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const EVERY = 8;
const SEALS = 7;
const EVENTS = 60;
const key = newTestKey();
const stranger = newTestKey();

const plain: VerifySealsOptions = { keys: null, anchors: [], leaves: null };

/** A ledger as the decider and the log make it, cut to a length that is known, and sealed. */
async function realRows(): Promise<Row[]> {
  const path = join(temporaryFolder(), 'ledger.db');
  await fillLedger(path, { accounts: 3, events: EVENTS });
  return rowsOf(path).slice(0, EVENTS);
}
const events = await realRows();
const good = sealed(events, { key, every: EVERY });
const anchors = sealsIn(good).slice(-1);
const leafFile = join(temporaryFolder(), 'leaves');

/** Where the event of an ordinal stands among the rows: behind the introduction and the seals before it. */
const at = (ordinal: number): number => 1 + ordinal + Math.floor(ordinal / EVERY);
const eventOf = (ordinal: number): Row => good[at(ordinal)] as Row;
const isSeal = (row: Row, seal: number): boolean => row.type === 'LedgerSealed' && sealOf(row).seal === seal;
const sealRow = (seal: number): Row => good.find((row) => isSeal(row, seal)) as Row;

function unsigned(seal: number): Omit<ReturnType<typeof sealOf>, 'signature'> {
  const { signature: _, ...data } = sealOf(sealRow(seal));
  return data;
}

/** Event 20, of seal 2. */
const CHANGED = 20;
const change = (how: Partial<Row>, ordinal = CHANGED): Row[] => good.with(at(ordinal), { ...eventOf(ordinal), ...how });
const others = (rows: readonly Row[], isGone: (row: Row) => boolean): Row[] => rows.filter((row) => !isGone(row));
const changedData = eventOf(CHANGED).data.replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10));

/** With every seal from 2 on made anew for what was changed. */
const sealedAnew = (rows: readonly Row[], by: typeof key): Row[] =>
  sealed(rows, { key, thenBy: { key: by, from: 2 }, every: EVERY });

async function verdictOfFile(rows: readonly Row[], options = plain): Promise<SealVerdict> {
  const path = join(temporaryFolder(), 'ledger.db');
  writeRows(path, rows);
  const log = await openSqliteEventLog({ path });
  try {
    return await verifySeals(log, options);
  } finally {
    await log.close();
  }
}

const verdictOf = (rows: readonly Row[], options: Partial<VerifySealsOptions> = {}): Promise<SealVerdict> =>
  verifySeals(logOf(rows), { ...plain, ...options });

describe('a ledger as it was sealed', () => {
  test('is consistent, what is not sealed yet is counted, and leaf hashes are kept', async () => {
    const file = new LeafFileWriter(leafFile);
    const verdict = await verdictOf(good, { onLeaves: (leaves) => file.append(leaves) });
    file.close();
    expect(verdict).toMatchObject({ verdict: 'consistent, not anchored', faults: [], furtherRanges: 0, event: null });
    expect(verdict).toMatchObject({ events: EVENTS, seals: SEALS, sealed: 56, anchored: 0, newest: { seal: 6 } });
    const leaves = new LeafFile(leafFile);
    expect(leaves.range(0, EVENTS)).toHaveLength(56);
    leaves.close();
    expect(() => new LeafFileWriter(leafFile)).toThrow('EEXIST');
  });

  test('is anchored by a seal from outside, up to that seal', async () => {
    const verdict = await verdictOf(good, { anchors: sealsIn(good).slice(3, 4) });
    expect(verdict).toMatchObject({ verdict: 'anchored', faults: [], events: EVENTS, sealed: 56, anchored: 32 });
  });

  test('holds by keys from outside', async () => {
    const { keyId, publicKey } = key;
    const own = { keyId, publicKey, validFrom: '2026-01-01T00:00:00.000Z' };
    expect((await verdictOf(good, { keys: [own] })).faults).toEqual([]);
    const byOther = await verdictOf(good, { keys: [{ ...own, ...newTestKey() }] });
    expect(byOther.faults[0]).toMatchObject({ kind: 'key', problem: expect.stringContaining('none of the keys') });
    const later = await verdictOf(good, { keys: [{ ...own, validFrom: '2027-01-01T00:00:00.000Z' }] });
    expect(later.faults[0]).toMatchObject({ kind: 'key', problem: expect.stringContaining('valid from 2027-01') });
  });

  test('may change its key for one that the key before vouches for, and for no other', async () => {
    const next = newTestKey();
    const introduction = introductionRow(SEALS + 1, next, key);
    const { signature: _, ...last } = sealOf(sealRow(6));
    const half = good.slice(0, at(48));
    const sealedNext = signedSealRow(SEALS + 1, { ...last, keyId: next.keyId }, next);
    const rows = (row: Row): Row[] => [
      ...half,
      { ...row, revision: revision(SEALS) },
      ...events.slice(48, 56),
      sealedNext,
    ];
    expect(await verdictOf(rows(introduction))).toMatchObject({ verdict: 'consistent, not anchored', seals: SEALS });
    for (const [row, problem] of [
      [introductionRow(0, next, null), 'introduces itself, though there is a key already'],
      [introductionRow(0, next, stranger), `is introduced by ${stranger.keyId}, which is no known key`],
      [
        { ...introduction, data: introductionRow(0, next, { ...stranger, keyId: key.keyId }).data },
        'a signature that is not of',
      ],
      [introductionRow(0, { ...next, keyId: stranger.keyId }, key), 'the public key of another'],
    ] as const)
      expect((await verdictOf(rows(row))).faults[0]).toMatchObject({
        kind: 'key',
        problem: expect.stringContaining(problem),
      });
    const late = await verdictOf(rows(introductionRow(0, next, key, '2026-11-06T10:20:31.002Z')));
    expect(late.faults).toMatchObject([{ kind: 'key', seal: 6, problem: expect.stringContaining('valid from') }]);
    // Clocks may differ by a day.
    expect((await verdictOf(rows(introductionRow(0, next, key, '2026-11-06T10:20:31.001Z')))).faults).toEqual([]);
  });

  test('is signed by no key that was followed by another, once that has signed', async () => {
    const next = newTestKey();
    const by = (...signers: readonly (typeof key)[]) => ({ key, signers, every: EVERY });
    const handedOver = sealed(events, { ...by(key, key, key, next), introducedBefore: 1 });
    expect((await verdictOf(handedOver)).faults).toEqual([]);
    const third = newTestKey();
    const twiceFirst = sealed(events, { ...by(key, next, third), introducedBefore: 1 });
    expect((await verdictOf(twiceFirst)).faults).toEqual([]);
    const vouching = await verdictOf(sealed(events, by(key, next, third)));
    expect(vouching.faults[0]).toMatchObject({
      ...{ kind: 'key', seal: null },
      problem: `key ${third.keyId} is introduced by ${key.keyId}, which a key has followed that has sealed`,
    });
    const retired = await verdictOf(sealed(events, by(key, next, key)));
    expect(retired.faults).toMatchObject([
      { kind: 'key', seal: 2, problem: expect.stringContaining('after a seal by a key that followed it') },
      { seal: 3 },
      { seal: 4 },
      { seal: 5 },
      { seal: 6 },
    ]);
    const { keyId } = next;
    const keys = [key, next].map((each) => ({ ...each, validFrom: '2026-01-01T00:00:00.000Z' }));
    const signed = good.with(at(7) + 1, signedSealRow(1, { ...unsigned(0), keyId }, next));
    expect((await verdictOf(signed, { keys })).faults).toMatchObject([
      { kind: 'key', seal: 0, problem: `is signed by ${keyId} before that is introduced` },
      { kind: 'chain', seal: 1 },
      { kind: 'key', seal: null, problem: `key ${keyId} is given, and nothing in the stream of seals introduces it` },
    ]);
  });

  test('has each key introduced once', async () => {
    const again = introductionRow(SEALS + 1, key, null);
    expect((await verdictOf([...good, again])).faults).toMatchObject([
      { kind: 'key', seal: null, problem: `key ${key.keyId} is introduced a second time` },
    ]);
  });

  test('says so where nothing is sealed, and what was sealed elsewhere is missed', async () => {
    expect(await verdictOf(events)).toMatchObject({ verdict: 'nothing is sealed', events: EVENTS, sealed: 0 });
    expect(await verdictOf([])).toMatchObject({ verdict: 'nothing is sealed', events: 0 });
    const keys = [{ ...key, validFrom: '2026-01-01T00:00:00.000Z' }];
    const gone = { kind: 'tail', seal: null, problem: expect.stringContaining('all of them are taken out') };
    expect((await verdictOf(events, { keys })).faults).toMatchObject([{ kind: 'key' }, gone]);
    expect((await verdictOf([good[0] as Row, ...events], { keys })).faults).toMatchObject([gone]);
    expect((await verdictOf(events, { anchors })).faults).toMatchObject([{ kind: 'tail', seal: 6 }]);
  });

  test('takes a ledger whose key was rotated before its first seal for one in which nothing is sealed, and no other', async () => {
    const [first, ...next] = [key, newTestKey(), newTestKey()];
    const rotated = (...from: readonly string[]): Promise<SealVerdict> => {
      const known = next.slice(0, from.length).map((one, index) => introductionRow(index + 1, one, key, from[index]));
      const keys = [first, ...next].slice(0, 1 + from.length).map((one) => ({ ...one, validFrom: EARLY }));
      return verdictOf([good[0] as Row, ...known, ...events], { keys });
    };
    const unsealed = { verdict: 'nothing is sealed', faults: [] };
    expect(await rotated(SEALED_AT)).toMatchObject(unsealed);
    expect(await rotated(SEALED_AT, LATER)).toMatchObject(unsealed);
    const gone = [{ kind: 'tail', seal: null }];
    expect((await rotated(LATER)).faults).toMatchObject(gone);
    expect((await rotated(LATER, LATER)).faults).toMatchObject(gone);
    expect((await rotated(LATER, SEALED_AT)).faults).toMatchObject(gone);
  });
});

const [EARLY, SEALED_AT, LATER] = ['2026-01-01T00:00:00.000Z', '2026-11-05T10:20:31.001Z', '2026-11-05T10:20:31.002Z'];

const RANGE = { kind: 'range', seal: 2, range: { first: 16, last: 23 } };
const AS_SEALED = 'it is not as it was sealed';
const extra: Row = { ...eventOf(5), revision: revision(99), id: eventId('01890a5d-ac96-7abc-bcce-b302099a8057') };

describe('damage of a copy of a real ledger is found, and the event named by leaf hashes that were kept', () => {
  test.each<[string, Row[], number, string]>([
    ['a byte of data', change({ data: changedData }), CHANGED, AS_SEALED],
    ['a byte of white space', change({ data: `${eventOf(CHANGED).data} ` }), CHANGED, AS_SEALED],
    [
      'a byte of metadata',
      change({ metadata: eventOf(CHANGED).metadata.replace('"actor":"', '"actor":"x') }),
      CHANGED,
      AS_SEALED,
    ],
    ['a type', change({ type: 'CreditsGranted' }), CHANGED, AS_SEALED],
    ['an id', change({ id: extra.id }), CHANGED, AS_SEALED],
    ['a stream', change({ stream: 'account-other' as StreamName }), CHANGED, AS_SEALED],
    [
      'a rate card',
      change({ data: eventOf(CHANGED).data.replace(/"version":\d+|"amount":"/, '$&1') }),
      CHANGED,
      AS_SEALED,
    ],
    ['an event removed', good.toSpliced(at(CHANGED), 1), CHANGED, 'gone before it: 1 event'],
    ['two removed', good.toSpliced(at(CHANGED), 2), CHANGED, 'gone before it: 2 events'],
    ['an event inserted', good.toSpliced(at(CHANGED), 0, extra), CHANGED, '1 event from here on stood in no seal'],
    [
      'two swapped',
      good.with(at(CHANGED), eventOf(22)).with(at(22), eventOf(CHANGED)),
      ...([CHANGED, 'it was sealed 2 later, and what was sealed here stands 2 later'] as const),
    ],
  ])('%s', async (_, rows, ordinal, problem) => {
    const leaves = new LeafFile(leafFile);
    const verdict = await verdictOf(rows, { leaves });
    leaves.close();
    expect(verdict.verdict).toBe('damaged');
    expect(verdict.faults[0]).toMatchObject(RANGE);
    expect(verdict.event).toMatchObject({ ordinal, problem });
    expect(verdict.event?.found?.id).toBe(rows[at(ordinal)]?.id);
  });

  test('a change leaves the other ranges whole, a removal none behind it', async () => {
    expect(await verdictOf(change({ data: changedData }))).toMatchObject({ furtherRanges: 0, event: null });
    const removed = await verdictOf(good.toSpliced(at(CHANGED), 1));
    expect(removed).toMatchObject({ furtherRanges: 4, faults: [RANGE] });
  });

  test.each<[string, Row[], object]>([
    [
      'what was changed is sealed anew by a stranger in the name of the key',
      sealedAnew(change({ data: changedData }), { ...stranger, keyId: key.keyId }),
      { kind: 'key', seal: 2, problem: `has a signature that is not of its key ${key.keyId}` },
    ],
    [
      'what was changed is sealed anew by a stranger',
      sealedAnew(change({ data: changedData }), stranger),
      { kind: 'key', seal: 2, problem: `is signed by ${stranger.keyId}, which is no known key` },
    ],
    [
      'a seal is replaced by another',
      good.with(at(31) + 1, { ...sealRow(3), data: sealRow(2).data }),
      { kind: 'chain', seal: 2, problem: 'stands where seal 3 is expected' },
    ],
    [
      'the root in a seal is another',
      good.with(at(31) + 1, {
        ...sealRow(3),
        data: sealRow(3).data.replace(/"root":"./, (root) => `${root.slice(0, -1)}x`),
      }),
      { kind: 'chain', seal: null, problem: expect.stringContaining('seals revision 4') },
    ],
    [
      'a seal is taken out',
      others(good, (row) => isSeal(row, 3)),
      { kind: 'chain', seal: null, problem: 'the stream of seals goes from revision 3 to 5' },
    ],
    [
      'a seal is taken out, and the others moved up',
      others(good, (row) => isSeal(row, 3)).map((row) =>
        row.stream === SEALS_STREAM && row.revision > 4 ? { ...row, revision: revision(row.revision - 1) } : row,
      ),
      { kind: 'chain', seal: 4, problem: 'stands where seal 3 is expected' },
    ],
    [
      'the newest seal is put before its events',
      [...good.slice(0, at(48)), sealRow(6), ...others(good.slice(at(48)), (row) => isSeal(row, 6))],
      { kind: 'order', seal: 6, problem: 'it stands before events that it seals' },
    ],
    [
      'the last events are cut, and their seals left',
      others(good, (row) => events.indexOf(row) >= 50),
      { kind: 'tail', seal: 6, problem: expect.stringContaining('its tail is cut') },
    ],
  ])('%s', async (_, rows, fault) => {
    const verdict = await verdictOf(rows);
    expect(verdict.verdict).toBe('damaged');
    expect(verdict.faults[0]).toMatchObject(fault);
  });
});

describe('what only a seal from outside shows', () => {
  const rebuilt = sealed(change({ data: changedData }), { key, every: EVERY });

  test.each<[string, Row[], object]>([
    ['the tail is cut after a seal', good.slice(0, at(48)), { kind: 'tail', seal: 6 }],
    ['the tail is cut in a range', good.slice(0, at(52)), { kind: 'tail', seal: 6 }],
    ['the newest seal is cut, its events are there', good.toSpliced(at(55) + 1, 1), { kind: 'tail', seal: 6 }],
    [
      'the whole ledger is written anew with the real key',
      rebuilt,
      { kind: 'fork', seal: 6, problem: expect.stringContaining('written anew') },
    ],
  ])('%s', async (_, rows, fault) => {
    expect(await verdictOf(rows)).toMatchObject({ verdict: 'consistent, not anchored', faults: [] });
    const verdict = await verdictOf(rows, { anchors });
    expect(verdict).toMatchObject({ verdict: 'damaged', faults: [fault] });
  });

  test('a seal by the real key that names another before it does not follow', async () => {
    const { signature: _, ...data } = sealOf(sealRow(6));
    const other = signedSealRow(SEALS, { ...data, previous: data.root }, key);
    expect((await verdictOf(good.with(at(55) + 1, other))).faults).toMatchObject([
      { kind: 'chain', seal: 6, problem: 'does not name the seal before it as it is' },
    ]);
  });

  test('another seal of the same events: a fork', async () => {
    const { signature: _, ...data } = sealOf(sealRow(6));
    const other = signedSealRow(SEALS, { ...data, sealedAt: '2026-11-05T10:20:32.000Z' }, key);
    const rows = good.with(at(55) + 1, other);
    expect(await verdictOf(rows)).toMatchObject({ faults: [] });
    expect((await verdictOf(rows, { anchors })).faults).toMatchObject([{ kind: 'fork', seal: 6 }]);
  });
});

test('a ledger’s file that was changed beside the program is damaged in the same words', async () => {
  const leaves = new LeafFile(leafFile);
  for (const rows of [good, change({ data: changedData }), good.toSpliced(at(CHANGED), 1), good.slice(0, at(52))])
    expect(await verdictOfFile(rows, { ...plain, anchors, leaves })).toEqual(
      await verdictOf(rows, { anchors, leaves }),
    );
  leaves.close();
});

test('a signature and a key are in one form alone: another that stands for the same bytes is a change', async () => {
  const fields = good.flatMap(({ stream, data }, index) =>
    stream === SEALS_STREAM
      ? [...data.matchAll(/"(?:signature|publicKey)":"([^"]+)"/g)].map(([, text = '']) => ({ index, text }))
      : [],
  );
  expect(fields.length).toBeGreaterThan(5);
  for (const { index, text } of fields) {
    const row = good[index] as Row;
    const rows = good.with(index, { ...row, data: row.data.replace(text, otherBase64Of(text)) });
    expect((await verdictOf(rows, { anchors })).verdict).toBe('damaged');
  }
});

test('invariant 20: hash chain: whatever is done to one row that a seal from outside covers is found', async () => {
  const field = fc.constantFrom('stream', 'id', 'type', 'data', 'metadata' as const);
  const covered = good.slice(0, at(56));
  const row = fc.nat({ max: covered.length - 1 });
  const damage = fc.oneof(
    fc.tuple(row, field, fc.nat()).map(([index, name, place]) => {
      const text = (good[index] as Row)[name];
      const spot = place % text.length;
      const changed = `${text.slice(0, spot)}${text[spot] === '0' ? '1' : '0'}${text.slice(spot + 1)}`;
      return good.with(index, { ...(good[index] as Row), [name]: changed });
    }),
    row.map((index) => good.toSpliced(index, 1)),
    fc.tuple(row, row).map(([one, other]) => good.with(one, good[other] as Row).with(other, good[one] as Row)),
    fc.tuple(row, row).map(([one, other]) => good.toSpliced(one, 0, good[other] as Row)),
  );
  /** What is sealed, and the seals themselves: where they stand among events is no part of it, nor are their ids. */
  const meaningOf = (rows: readonly Row[]): string => {
    const seals = rows
      .filter(({ stream }) => stream === SEALS_STREAM)
      .map(({ type, data, revision }) => [type, data, revision]);
    const sequence = rows.filter(({ stream }) => stream !== SEALS_STREAM).slice(0, 56);
    return JSON.stringify([sequence, seals.toSorted((a, b) => Number(a[2]) - Number(b[2]))]);
  };
  const meant = meaningOf(good);
  await fc.assert(
    fc.asyncProperty(damage, async (rows) => {
      const { verdict } = await verdictOf(rows, { anchors });
      if (meaningOf(rows) !== meant) expect(verdict).toBe('damaged');
    }),
    { numRuns: 150 },
  );
});
