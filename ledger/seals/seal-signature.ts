import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto';
import type { EventData } from '../../contracts/events.ts';
import { SEAL_LIMITS } from './limits.ts';

export type LedgerSealed = EventData<'LedgerSealed'>;
export type SealKeyIntroduced = EventData<'SealKeyIntroduced'>;

/** What is signed of a seal: a line that says what it is, then its data without the signature, keys in this order. */
export function sealText(data: Omit<LedgerSealed, 'signature'>): string {
  const { seal, ledgerId, first, count, root, treeSize, treeRoot, previous, sealedAt, keyId } = data;
  const signed = { seal, ledgerId, first, count, root, treeSize, treeRoot, previous, sealedAt, keyId };
  return `model-gateway seal v1\n${JSON.stringify(signed)}`;
}

/** The same of a key's introduction. */
export function introductionText(data: Omit<SealKeyIntroduced, 'signature'>): string {
  const { keyId, publicKey, validFrom, introducedBy } = data;
  return `model-gateway seal key v1\n${JSON.stringify({ keyId, publicKey, validFrom, introducedBy })}`;
}

/** @param publicKey base64 of the 32 bytes */
export const keyIdOf = (publicKey: string): string =>
  hash('sha256', Buffer.from(publicKey, 'base64'), 'hex').slice(0, 16);

/** @param publicKey as `keyIdOf` @throws Error where it is no key */
export const publicKeyOf = (publicKey: string): KeyObject =>
  createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey, 'base64').toString('base64url') },
    format: 'jwk',
  });

/** Whether a seal is of before its key, by more than clocks may differ by. @param validFrom RFC 3339 */
export const isBeforeKey = ({ sealedAt }: Pick<LedgerSealed, 'sealedAt'>, validFrom: string): boolean =>
  Date.parse(validFrom) - Date.parse(sealedAt) > SEAL_LIMITS.clocksMs;

/** The latest of instants that are all written by `toISOString`. */
export const latestOf = (first: string, ...others: readonly string[]): string =>
  others.reduce((latest, other) => (other > latest ? other : latest), first);

/** Ed25519 (RFC 8032). @param signature base64 */
export const isSignedBy = (key: KeyObject, text: string, signature: string): boolean =>
  verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
