import { createHash, randomBytes } from 'node:crypto';

/** The form of a service key (interface, 2.2). */
const KEY_PREFIX = 'sk-svc-';

interface NewKey {
  /** Shown once, stored nowhere. */
  readonly secret: string;
  readonly keyId: string;
  readonly sha256: string;
  readonly last4: string;
}

export function newKey(): NewKey {
  const secret = KEY_PREFIX + randomBytes(32).toString('base64url');
  const sha256 = createHash('sha256').update(secret, 'utf8').digest('hex');
  return { secret, keyId: `key_${randomBytes(8).toString('hex')}`, sha256, last4: secret.slice(-4) };
}
