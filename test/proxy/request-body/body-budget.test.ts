import { describe, expect, it } from 'vitest';
import { accountId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { BodyBudget } from '../../../proxy/request-body/body-budget.ts';
import type { BodyOwner } from '../../../proxy/request-body/body-owner.ts';
import { BodyShare } from '../../../proxy/request-body/body-share.ts';
import { IncomingBody } from '../../../proxy/request-body/incoming-body.ts';
import { PIECE_BYTES, READ_AT_ONCE_BYTES_MAX } from '../../../proxy/request-body/limits.ts';

const ONE = { accountId: accountId('acct_one'), hasPaid: true };
const OTHER = { accountId: accountId('acct_other'), hasPaid: true };
const MIB = 1024 * 1024;
const budget = () => new BodyBudget({ maxBytes: 1_000, maxBytesPerAccount: 600 });

describe('the budget of bodies', () => {
  it('has room for so many bytes in all, and for so many of one account', () => {
    const bodies = budget();
    expect(bodies.take(ONE, 600)).toBe(null);
    expect(bodies.take(ONE, 1)).toMatchObject({ code: 'rate_limited' });
    expect(bodies.take(OTHER, 400)).toBe(null);
    expect(bodies.take(OTHER, 1)).toMatchObject({ code: 'gateway_overloaded', retryAfterS: 1 });
    expect(bodies.bytes).toBe(1_000);
    bodies.give(ONE, 600);
    expect(bodies.take(OTHER, 1)).toBe(null);
    expect(bodies.take(ONE, 599)).toBe(null);
    expect(bodies.bytes).toBe(1_000);
  });

  it('has half of it for all that never paid, and all of it for the others', () => {
    const bodies = new BodyBudget({ maxBytes: 1_000 * MIB, maxBytesPerAccount: 600 * MIB });
    const unpaid = [1, 2, 3].map((n) => ({ accountId: accountId(`acct_unpaid_${n}`), hasPaid: false })) as [
      BodyOwner,
      BodyOwner,
      BodyOwner,
    ];
    expect(bodies.take(unpaid[0], 300 * MIB)).toBe(null);
    expect(bodies.take(unpaid[1], 200 * MIB)).toBe(null);
    expect(bodies.take(unpaid[2], 1)).toMatchObject({ code: 'gateway_overloaded', retryAfterS: 1 });
    expect(bodies.take(ONE, 500 * MIB)).toBe(null);
    bodies.give(ONE, 500 * MIB);
    expect(bodies.take(unpaid[2], 1)).toMatchObject({ code: 'gateway_overloaded' });
    bodies.give(unpaid[0], 1);
    expect(bodies.take(unpaid[2], 1)).toBe(null);
  });

  it('has room for one body of any length of those that never paid, however little it is', () => {
    const { requestBodyBytesMax } = LIMITS;
    const bodies = new BodyBudget({ maxBytes: requestBodyBytesMax, maxBytesPerAccount: requestBodyBytesMax });
    const unpaid = { accountId: accountId('acct_unpaid'), hasPaid: false };
    expect(bodies.take(unpaid, requestBodyBytesMax)).toBe(null);
  });

  it('has a share back once: when its answer is over and nobody keeps it', () => {
    const bodies = budget();
    const share = new BodyShare(bodies, ONE);
    share.take(100);
    share.take(50);
    share.keep();
    share.keep();
    share.over();
    share.letGo();
    expect(bodies.bytes).toBe(150);
    share.letGo();
    share.over();
    expect(bodies.bytes).toBe(0);
  });
});

describe('a body that comes', () => {
  const taken = () => {
    const sizes: number[] = [];
    const take = (bytes: number): null => {
      sizes.push(bytes);
      return null;
    };
    return { sizes, take };
  };

  it('in one chunk is that chunk', () => {
    const { sizes, take } = taken();
    const chunk = Buffer.from(new Uint8Array(Buffer.from('{}')).buffer);
    const body = new IncomingBody(2, take);
    expect(body.add(chunk)).toBe(null);
    expect(body.end().whole.buffer).toBe(chunk.buffer);
    expect(sizes).toEqual([2]);
  });

  it('in one chunk that is part of something larger is a copy, which can be given to a thread', () => {
    const { sizes, take } = taken();
    const larger = Buffer.from(new Uint8Array(Buffer.from('{}{"a":1}')).buffer);
    const body = new IncomingBody(2, take);
    expect(body.add(larger.subarray(0, 2))).toBe(null);
    const { whole } = body.end();
    expect(whole.toString()).toBe('{}');
    expect(whole.buffer.byteLength).toBe(2);
    expect(larger.toString()).toBe('{}{"a":1}');
    expect(sizes).toEqual([2]);
  });

  it.each([
    ['announced', 300_000, [262_144, 37_856]],
    ['not announced', 300_000, [65_536, PIECE_BYTES]],
    ['announced and short', 1_000, [1_000]],
    ['not announced and short', READ_AT_ONCE_BYTES_MAX, [READ_AT_ONCE_BYTES_MAX]],
  ])('in small chunks takes few pieces of the budget: %s', (title, bytes, expected) => {
    const { sizes, take } = taken();
    const whole = Buffer.alloc(bytes, 'abcdefg');
    const body = new IncomingBody(title.startsWith('announced') ? bytes : null, take);
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes; at += 97) chunks.push(Buffer.from(new Uint8Array(whole.subarray(at, at + 97)).buffer));
    for (const chunk of chunks) body.add(chunk);
    expect(chunks.filter(({ buffer }) => buffer.byteLength > 0)).toEqual([]);
    const read = body.end();
    expect(Buffer.concat(read.pieces).equals(whole)).toBe(true);
    expect(sizes).toEqual(expected);
  });

  it('in crumbs is not read on, for each costs more than it brings', () => {
    const crumbs = (bytes: number, chunk: number): string => {
      const body = new IncomingBody(null, () => null);
      for (let at = 0; at < bytes; at += chunk) {
        const refused = body.add(Buffer.from(new Uint8Array(chunk).buffer));
        if (refused !== null) return `${refused.code} after ${at}`;
      }
      return 'read';
    };
    expect(crumbs(4_096, 1)).toBe('read');
    expect(crumbs(32 * 1024 * 1024, 64)).toBe('read');
    expect(crumbs(100_000, 1)).toBe('invalid_request after 4161');
    expect(crumbs(1_000_000, 16)).toMatch(/^invalid_request after 8/);
  });

  it('takes room as it comes, not as it is announced', () => {
    const { sizes, take } = taken();
    const body = new IncomingBody(32 * 1024 * 1024, take);
    body.add(Buffer.alloc(1));
    expect(sizes).toEqual([PIECE_BYTES]);
  });

  it('is free at once where its client leaves in the middle of it', () => {
    const body = new IncomingBody(32 * 1024 * 1024, () => null);
    body.add(Buffer.alloc(300_000));
    const allocated = process.memoryUsage().arrayBuffers;
    body.free();
    expect(process.memoryUsage().arrayBuffers).toBeLessThanOrEqual(allocated - 2 * PIECE_BYTES);
  });

  it('leaves alone what its chunks are a part of', () => {
    const whole = Buffer.alloc(1_000, 'x');
    const body = new IncomingBody(1_000, () => null);
    body.add(whole.subarray(0, 500));
    body.add(whole.subarray(500));
    expect(body.end().whole.equals(whole)).toBe(true);
  });

  it('of no bytes is none', () => {
    expect(new IncomingBody(null, () => null).end().length).toBe(0);
  });
});
