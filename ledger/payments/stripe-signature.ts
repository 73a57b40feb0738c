import { createHmac, timingSafeEqual } from 'node:crypto';

interface Signing {
  /** Several while one is replaced. */
  readonly secrets: readonly string[];
  readonly toleranceMs: number;
  readonly nowMs: number;
}

/** A header is no longer than a few signatures. */
const HEADER_MAX = 4_096;

/**
 * Why a message's bytes are not as Stripe has signed them lately; null where they are. `t=SECONDS,v1=HEX,v1=HEX,…`, of which one
 * has to be the HMAC-SHA-256, by one of the secrets, of `SECONDS.` and the bytes. Compared in constant time.
 */
export function whyUnproven(body: Buffer, header: string, { secrets, toleranceMs, nowMs }: Signing): string | null {
  if (header === '') return 'it has no signature';
  if (header.length > HEADER_MAX) return 'its signature has no such form';
  const parts = header.split(',').map((part) => part.trim());
  const [time = ''] = valuesOf(parts, 't');
  if (!/^\d{1,12}$/.test(time)) return 'its signature names no time';
  const given = valuesOf(parts, 'v1').filter((one) => /^[0-9a-f]{64}$/.test(one));
  const expected = secrets.map((secret) => createHmac('sha256', secret).update(`${time}.`).update(body).digest());
  const isSigned = given.some((one) => expected.some((right) => timingSafeEqual(Buffer.from(one, 'hex'), right)));
  if (!isSigned) return 'its signature is by none of the secrets';
  // Only what is signed says when it was.
  return nowMs - Number(time) * 1_000 > toleranceMs ? 'it was signed too long ago' : null;
}

const valuesOf = (parts: readonly string[], name: string): string[] =>
  parts.flatMap((part) => (part.startsWith(`${name}=`) ? [part.slice(name.length + 1)] : []));
