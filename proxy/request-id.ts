import { randomFillSync } from 'node:crypto';
import { type RequestId, requestIdFromUuid, uuidV7 } from '../contracts/ids.ts';

/** Random bytes are drawn in bulk: one call of the generator serves 400 requests. */
const pool = Buffer.alloc(4_000);
let used = pool.length;

export function newRequestId(nowMs: number): RequestId {
  if (used + 10 > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const id = requestIdFromUuid(uuidV7(nowMs, pool.subarray(used, used + 10)));
  used += 10;
  return id;
}
