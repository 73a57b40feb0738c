/** murmur2 of a key's UTF-8, as Java's clients have it (org.apache.kafka.common.utils.Utils), as a signed integer. */
export function murmur2(key: string): number {
  const data = Buffer.from(key, 'utf8');
  let hash = SEED ^ data.length;
  const whole = data.length & ~3;
  for (let at = 0; at < whole; at += 4) {
    let word = Math.imul(data.readInt32LE(at), M);
    word = Math.imul(word ^ (word >>> R), M);
    hash = Math.imul(hash, M) ^ word;
  }
  for (let at = data.length - 1; at >= whole; at--) hash ^= (data[at] ?? 0) << (8 * (at - whole));
  if (whole < data.length) hash = Math.imul(hash, M);
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return hash ^ (hash >>> 15);
}

/** The partition of a key among so many. */
export const partitionOfKey = (key: string, partitions: number): number => (murmur2(key) & 0x7fffffff) % partitions;

const SEED = 0x9747b28c;
const M = 0x5bd1e995;
const R = 24;
