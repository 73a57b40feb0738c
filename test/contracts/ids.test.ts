import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ACCOUNT_ID_PATTERN,
  accountId,
  accountOfStream,
  accountStream,
  CATALOG_STREAM,
  commandId,
  commandOfRequest,
  eventIdOf,
  uuidV7,
} from '../../contracts/ids.ts';
import { requestIdFromUuid } from '../fixtures/ledger/request-of-uuid.ts';

const times = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const randoms = fc.uint8Array({ minLength: 10, maxLength: 10 });
const COMMAND = commandId('019a5b3c-0000-7000-8000-0000000000fe');

describe('a UUIDv7', () => {
  test('has the form of RFC 9562 and holds its time', () => {
    fc.assert(
      fc.property(times, randoms, (nowMs, random) => {
        const uuid = uuidV7(nowMs, random);
        expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)).toBe(nowMs);
      }),
    );
  });

  test('sorts by time as text, whatever the random bytes', () => {
    fc.assert(
      fc.property(times, times, randoms, randoms, (a, b, first, second) => {
        fc.pre(a < b);
        expect(uuidV7(a, first) < uuidV7(b, second)).toBe(true);
      }),
    );
  });

  test('reads the bytes of the view that it is given, not of the memory around it', () => {
    const memory = Uint8Array.from({ length: 30 }, (_, index) => index);
    expect(uuidV7(0, memory.subarray(10, 20))).toBe(uuidV7(0, memory.slice(10, 20)));
    expect(uuidV7(0, memory.subarray(10, 20))).not.toBe(uuidV7(0, memory.slice(0, 10)));
  });
});

test('a request id is the UUID without hyphens, and gives it back as the command that settles it', () => {
  fc.assert(
    fc.property(times, randoms, (nowMs, random) => {
      const uuid = uuidV7(nowMs, random);
      const id = requestIdFromUuid(uuid);
      expect(id).toMatch(/^req_[0-9a-f]{32}$/);
      expect(commandOfRequest(id)).toBe(uuid);
    }),
  );
});

describe('the id of an event', () => {
  test('is the same for the same command and index, and differs for each index', () => {
    const ids = Array.from({ length: 64 }, (_, index) => eventIdOf(COMMAND, index));
    expect(ids).toEqual(Array.from({ length: 64 }, (_, index) => eventIdOf(COMMAND, index)));
    expect(new Set(ids).size).toBe(64);
    expect(ids[0]).toBe(COMMAND);
    expect(ids[1]).toBe('019a5b3c-0000-7000-8000-0000000000ff');
    expect(ids[2]).toBe('019a5b3c-0000-7000-8000-000000000100');
  });

  test('sorts by the index within a command', () => {
    const ids = Array.from({ length: 1000 }, (_, index) => eventIdOf(COMMAND, index));
    expect(ids.toSorted()).toEqual(ids);
  });

  test('sorts by time between commands', () => {
    fc.assert(
      fc.property(times, times, randoms, randoms, fc.nat(0xffff), fc.nat(0xffff), (a, b, first, second, i, j) => {
        fc.pre(a < b);
        const earlier = eventIdOf(commandId(uuidV7(a, first)), i);
        expect(earlier < eventIdOf(commandId(uuidV7(b, second)), j)).toBe(true);
      }),
    );
  });

  test('stays a UUIDv7 of the same time where the last 16 bits run over', () => {
    const last = commandId('019a5b3c-0000-7000-8000-00000000ffff');
    expect(eventIdOf(last, 1)).toBe('019a5b3c-0000-7000-8000-000000000000');
  });

  test.each([-1, 0x1_0000])('is none of index %d', (index) => {
    expect(() => eventIdOf(COMMAND, index)).toThrow(RangeError);
  });
});

describe('a stream name', () => {
  test('holds its account', () => {
    const id = accountId('acme-corp_1');
    expect(accountStream(id)).toBe('account-acme-corp_1');
    expect(accountOfStream(accountStream(id))).toBe(id);
  });

  test('of the catalog belongs to no account', () => {
    expect(accountOfStream(CATALOG_STREAM)).toBeNull();
  });
});

test.each([
  ['acme', true],
  ['a', true],
  ['0_a-b', true],
  ['a'.repeat(64), true],
  ['a'.repeat(65), false],
  ['', false],
  ['-a', false],
  ['Acme', false],
  ['a/b', false],
  ['a\n', false],
])('the account id %j is accepted: %s', (text, accepted) => {
  expect(ACCOUNT_ID_PATTERN.test(text)).toBe(accepted);
});
