import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isPlainName, withoutSecrets } from '../../contracts/secret-like.ts';

/** What free text was redacted by before names had a rule. */
const BEFORE = /[\w-]{8,}\.[\w-]{8,}\.[\w-]*|[\w~+=-]{40,}/;
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const randomSecret = fc.oneof(
  bytes(16).map((all) => Buffer.from(all).toString('hex')),
  fc
    .integer({ min: 24, max: 66 })
    .chain(bytes)
    .map((all) => Buffer.from(all).toString('base64')),
  fc
    .integer({ min: 24, max: 66 })
    .chain(bytes)
    .map((all) => Buffer.from(all).toString('base64url')),
);

it('of free text all is hidden that was before, however it is put together', () => {
  const piece = fc.constantFrom(
    'ey',
    'ab',
    'Z',
    '-',
    '_',
    '.',
    '1',
    '~',
    '+',
    '=',
    '/',
    ' ',
    'abcdefgh',
    'aaaaaaaaaaaaaaaaaaa',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      expect(withoutSecrets(pieces.join('')).replaceAll('[redacted]', ' ')).not.toMatch(BEFORE);
    }),
  );
});

it('what is random is hidden in free text, and no name that is told', () => {
  fc.assert(
    fc.property(fc.noBias(randomSecret), (secret) => {
      expect(withoutSecrets(`refused: ${secret} (bad)`)).toBe('refused: [redacted] (bad)');
      // Behind what seems a folder of the root it is told, one of some thousands.
      expect(isPlainName(secret.replace(/^\//, '+'))).toBe(false);
    }),
  );
});

it.each(['ey_', 'eyaaaaaaaa.', 'sk-', 'abcdefgh.', 'aaaaaaaa-', 'AbcDef', 'a+'])(
  'a text of any length is looked at, also one that repeats %s',
  (repeated) => {
    // Looked at anew from each of its characters it would not be over within the time that a test has.
    const text = repeated.repeat(Math.floor(1_000_000 / repeated.length));
    expect(withoutSecrets(text)).toBe('[redacted]');
    expect(isPlainName(text)).toBe(['ey_', 'abcdefgh.', 'aaaaaaaa-'].includes(repeated));
  },
);

it('words with sk- or ey in them are words', () => {
  for (const words of [
    'task-force-of-the-company.key',
    'risk-management-of-gateway',
    'disk-encryption-passphrase',
    'they-are-there.of-this-one',
  ]) {
    expect(withoutSecrets(words)).toBe(words);
    expect(isPlainName(words)).toBe(true);
  }
});
