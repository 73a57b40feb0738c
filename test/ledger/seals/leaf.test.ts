import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { eventId, revision, type StreamName } from '../../../contracts/ids.ts';
import { LeafHasher, type SealedFields } from '../../../ledger/seals/leaf.ts';
import { hexOf } from '../../../ledger/seals/merkle.ts';

const EVENT: SealedFields = {
  stream: 'account-acct_1' as StreamName,
  revision: revision(3),
  id: eventId('01890a5d-ac96-7abc-bcce-b302099a8057'),
  type: 'CreditsGranted',
  data: '{"amount":"1","by":"Zoë 🙂"}',
  metadata: '{"schemaVersion":1}',
};

/** As its definition says. */
function expected(fields: readonly string[]): string {
  const hash = createHash('sha256').update(Buffer.of(0));
  for (const field of fields) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(field));
    hash.update(length).update(field);
  }
  return hash.digest('hex');
}

test('a leaf is what its definition says', () => {
  const { stream, revision, id, type, data, metadata } = EVENT;
  const fields = ['17', stream, String(revision), id, type, data, metadata];
  expect(hexOf(new LeafHasher().hash(EVENT, 17))).toBe(expected(fields));
  expect(hexOf(new LeafHasher().hash(EVENT, 17))).toBe(
    '4e5ef1a6f10457e629596df1d156f04f48ea73932e28bac2bc3e76f68a1ef798',
  );
});

test('numbers are in decimal, however many digits they have', () => {
  const { stream, id, type, data, metadata } = EVENT;
  for (const value of [0, 9, 10, 11, 99, 100, 2 ** 31, 2 ** 32 + 7, Number.MAX_SAFE_INTEGER]) {
    const fields = [String(value), stream, String(value), id, type, data, metadata];
    expect(hexOf(new LeafHasher().hash({ ...EVENT, revision: revision(value) }, value))).toBe(expected(fields));
  }
});

test('one hasher takes long events and short ones in any order', () => {
  const hasher = new LeafHasher();
  const long = { ...EVENT, data: `"${'é🙂'.repeat(50_000)}"` };
  for (const event of [EVENT, long, EVENT, long]) expect(hasher.hash(event, 0)).toBe(new LeafHasher().hash(event, 0));
});

test.each([
  ['stream', { stream: 'account-acct_2' as StreamName }],
  ['revision', { revision: revision(4) }],
  ['id', { id: eventId('01890a5d-ac96-7abc-bcce-b302099a8058') }],
  ['type', { type: 'CreditsGrante' }],
  ['data', { data: '{"amount":"1","by":"Zoë 🙂"} ' }],
  ['metadata', { metadata: '{"schemaVersion":2}' }],
  ['a byte that moves from one field to the next', { type: `${EVENT.type}{`, data: EVENT.data.slice(1) }],
])('another leaf: %s', (_, other) => {
  const hasher = new LeafHasher();
  expect(hasher.hash({ ...EVENT, ...other }, 17)).not.toBe(hasher.hash(EVENT, 17));
  expect(hasher.hash(EVENT, 18)).not.toBe(hasher.hash(EVENT, 17));
});
