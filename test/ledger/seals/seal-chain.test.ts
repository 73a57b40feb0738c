import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { accountId, accountStream, commandId, eventId, ledgerId, position, revision } from '../../../contracts/ids.ts';
import { SealChain } from '../../../ledger/seals/seal-chain.ts';
import type { LedgerSealed } from '../../../ledger/seals/seal-signature.ts';
import { verifySeals } from '../../../ledger/seals/verify-seals.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';
import {
  introductionRow,
  logOf,
  newTestKey,
  type Row,
  sealed,
  sealOf,
  signedSealRow,
} from '../../fixtures/ledger/sealed-rows.ts';

const key = newTestKey();
const events = Array.from({ length: 3 }, (_, at): Row => {
  const id = eventId(`01890a5d-ac96-7abc-bcce-b302099a805${at}`);
  return { stream: accountStream(accountId('a')), revision: revision(at), id, type: 'X', data: '{}', metadata: '{}' };
});
const [introduction, first, second] = sealed(events, { key, every: 1 }).filter(({ type }) => type !== 'X');
if (introduction === undefined || first === undefined || second === undefined) throw new Error('three were sealed');

const faultsOf = (...rows: readonly Row[]) => {
  const chain = new SealChain(null);
  for (const [at, row] of rows.entries()) chain.take({ ...row, position: position(at + 1) });
  return chain.faults;
};
const { signature: _, ...ofSecond } = sealOf(second);
/** By the real key, whatever it says. */
const resealed = (change: Partial<LedgerSealed>): Row => signedSealRow(2, { ...ofSecond, ...change }, key);

it('seals of one ledger that follow each other have no fault', () => {
  expect(faultsOf(introduction, first, second)).toEqual([]);
});

it.each<[string, (row: Row) => Row]>([
  ['a name twice', (row) => ({ ...row, data: row.data.replace('{', '{"keyId":"0000000000000000",') })],
  ['white space', (row) => ({ ...row, data: row.data.replace(',', ', ') })],
  ['a name of its metadata twice', (row) => ({ ...row, metadata: row.metadata.replace('{', '{"actor":"nobody",') })],
])('a seal, or a key, that is stored with %s is not as it is written, though its signature holds', (_what, change) => {
  const problem = expect.stringContaining('is not as it is written');
  expect(faultsOf(introduction, first, change(second))).toMatchObject([{ kind: 'chain', problem }]);
  expect(faultsOf(change(introduction))).toMatchObject([{ kind: 'chain', problem }]);
});

it.each<[string, Partial<LedgerSealed>, string]>([
  ['is of another ledger', { ledgerId: ledgerId(`ledger_${'1'.repeat(32)}`) }, `is of ledger_${'1'.repeat(32)}`],
  ['says more events of its tree than of its range', { treeSize: 3 }, 'says two ends of its range'],
  ['says fewer', { treeSize: 1 }, 'says two ends of its range'],
  [
    'begins inside of the one before',
    { first: 0, count: 2 },
    'begins at event 0, and what is sealed before ends before 1',
  ],
])('a seal by the real key that %s does not follow', (_what, change, problem) => {
  expect(faultsOf(introduction, first, resealed(change))).toMatchObject([{ kind: 'chain', seal: 1, problem }]);
});

it('a key is introduced before it seals, by a key that none that followed it has sealed behind; where else among the seals is not signed', () => {
  const [next, third] = [newTestKey(), newTestKey()];
  const rows = sealed(events, { key, signers: [key, key, next], introducedBefore: 1, every: 1 }).filter(
    ({ type }) => type !== 'X',
  );
  const inOrder = (...order: readonly number[]): Row[] =>
    order.flatMap((from, at) => (rows[from] === undefined ? [] : [{ ...rows[from], revision: revision(at) }]));
  expect(rows.map(({ type }) => type.slice(0, 8))).toEqual([
    ...['SealKeyI', 'LedgerSe', 'SealKeyI', 'LedgerSe', 'LedgerSe'],
  ]);
  for (const order of [
    [0, 1, 2, 3, 4],
    [0, 2, 1, 3, 4],
    [0, 1, 3, 2, 4],
  ])
    expect(faultsOf(...inOrder(...order))).toEqual([]);
  for (const order of [
    [1, 0, 2, 3, 4],
    [0, 1, 3, 4, 2],
    [2, 0, 1, 3, 4],
    [0, 1, 2, 4, 3],
    [0, 2, 3, 1, 4],
  ])
    expect(faultsOf(...inOrder(...order)), String(order)).not.toEqual([]);
  const behind = introductionRow(5, third, key);
  expect(faultsOf(...rows, behind)).toMatchObject([
    { kind: 'key', problem: expect.stringContaining('which a key has followed that has sealed') },
  ]);
});

it('an event of another type is no seal, wherever in their stream it stands', () => {
  const [encoded] = encodeEvents([exampleOf('LedgerIdentified')], {
    commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
    ...{ actor: 'gateway', recordedAt: '2026-11-05T10:20:31.001Z' },
  });
  const other: Row = { ...first, ...encoded };
  expect(faultsOf(introduction, other)).toMatchObject([
    { kind: 'chain', seal: null, problem: 'revision 1 is LedgerIdentified, which is no seal' },
  ]);
});

const [plain, options] = [sealed(events, { key, every: 1 }), { keys: null, anchors: [], leaves: null }];

it('a seal by the real key of a range that stands there, behind other events than it was made over, does not hold', async () => {
  const other = resealed({ treeRoot: 'a3'.repeat(32) });
  const isSeal = (row: Row, seal: number): boolean => row.type === 'LedgerSealed' && sealOf(row).seal === seal;
  const rows = plain.filter((row) => !isSeal(row, 2)).map((row) => (isSeal(row, 1) ? other : row));
  const verdict = await verifySeals(logOf(rows), options);
  expect(verdict.faults).toMatchObject([
    { kind: 'range', seal: 1, problem: 'the events before it are not those over which it was sealed' },
  ]);
});

it('what is written while a ledger is verified is not looked at, neither events nor seals', async () => {
  const log = logOf(plain);
  // Behind the seal of the first event; what comes then is a change of all that is sealed behind it.
  const changed = logOf(plain.map((row, at) => (at > 2 && row.type === 'X' ? { ...row, data: '{"x":1}' } : row)));
  const upTo = (count: number) => ({ ...changed, headPosition: async () => position(count) });
  expect(await verifySeals(log, options)).toMatchObject({ faults: [], events: 3, seals: 3 });
  expect(await verifySeals(upTo(3), options)).toMatchObject({ faults: [], events: 1, seals: 1, sealed: 1 });
  expect(await verifySeals(upTo(plain.length), options)).toMatchObject({ verdict: 'damaged' });
});
