import { expect, it } from 'vitest';
import { timeOfRequest } from '../../contracts/ids.ts';
import { newRequestId } from '../../proxy/request-id.ts';

it.each([0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, Date.UTC(2026, 10, 23), 2 ** 48 - 1])(
  'a request of %d ms since 1970 has ids of that time, each a UUIDv7 of its own',
  (nowMs) => {
    const ids = Array.from({ length: 1_000 }, () => newRequestId(nowMs));
    for (const id of ids) {
      expect(id).toMatch(/^req_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
      expect(timeOfRequest(id)).toBe(nowMs);
    }
    expect(new Set(ids).size).toBe(ids.length);
    // All that is random is: each of its digits takes all of its values.
    const digits = [13, 14, 15, ...Array.from({ length: 15 }, (_, at) => 17 + at)];
    for (const digit of digits) expect(new Set(ids.map((id) => id[4 + digit])).size).toBe(16);
    expect(new Set(ids.map((id) => id[4 + 16]))).toEqual(new Set(['8', '9', 'a', 'b']));
  },
);
