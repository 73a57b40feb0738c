import type { SeededRandom } from '../fixtures/seeded-random.ts';

const CHANGES_MAX = 4;
const RANGE_BYTES_MAX = 40;

/** Bytes with a few faults in them: bits flipped, ranges cut, doubled or moved, and tokens that mean something put in. */
export function mutated(random: SeededRandom, bytes: Buffer, tokens: readonly string[]): Buffer {
  let changed = bytes;
  for (let left = random.whole(1, CHANGES_MAX); left > 0; left--) changed = changedOnce(random, changed, tokens);
  return changed;
}

function changedOnce(random: SeededRandom, bytes: Buffer, tokens: readonly string[]): Buffer {
  const at = random.whole(0, bytes.length);
  const to = Math.min(bytes.length, at + random.whole(1, RANGE_BYTES_MAX));
  const [before, range, after] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)];
  const token = Buffer.from(tokens[random.whole(0, tokens.length - 1)] ?? '', 'latin1');
  switch (random.whole(0, 7)) {
    case 0: {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped[at] = (flipped[at] ?? 0) ^ (1 << random.whole(0, 7));
      return flipped;
    }
    case 1:
      return Buffer.concat([before, after]);
    case 2:
      return Buffer.concat([before, range, range, after]);
    case 3:
      return Buffer.concat([after, before, range]);
    case 4:
      return random.chance(0.3) ? before : bytes;
    case 5:
      return Buffer.concat([before, token, after]);
    default:
      return Buffer.concat([before, token, range, after]);
  }
}

/** A JSON value with one of its values, anywhere in it, replaced or left out. */
export function oddValue(random: SeededRandom, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || random.chance(0.15)) return ODD[random.whole(0, ODD.length - 1)];
  const keys = Object.keys(value);
  const chosen = keys[random.whole(0, keys.length - 1)];
  if (chosen === undefined) return ODD[random.whole(0, ODD.length - 1)];
  if (Array.isArray(value)) return value.map((one, index) => (String(index) === chosen ? oddValue(random, one) : one));
  const entries = Object.entries(value).flatMap(([key, one]): [string, unknown][] => {
    if (key !== chosen) return [[key, one]];
    return random.chance(0.1) ? [] : [[key, oddValue(random, one)]];
  });
  return Object.fromEntries(entries);
}

const DEEP: unknown = JSON.parse('['.repeat(600) + ']'.repeat(600));
const ODD: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  Number.MAX_SAFE_INTEGER + 2,
  '',
  'x',
  '\u0000',
  '\ud800',
  '\u202e',
  'x'.repeat(5_000),
  [],
  {},
  [[]],
  [null],
  [1, 'x', {}],
  { type: 'text' },
  { type: 'nonsense', cache_control: { type: 'ephemeral', ttl: '9h' } },
  { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '////' } },
  DEEP,
];
