import { z } from 'zod';
import { boundedList } from '../../contracts/bounded-length.ts';
import { EVENT_SCHEMAS } from '../../contracts/events.ts';
import { isAsWritten, jsonOf } from '../../contracts/json-object.ts';
import { linesOfArgument } from '../named-file.ts';
import { type Proof, proofSchema } from './prove.ts';
import type { TrustedKey } from './seal-chain.ts';
import type { LedgerSealed } from './seal-signature.ts';

/** A seal's data, or its event as `gateway ledger events --json` prints one. */
const sealLine = z.union([
  EVENT_SCHEMAS.LedgerSealed,
  z.looseObject({ type: z.literal('LedgerSealed'), data: EVENT_SCHEMAS.LedgerSealed }).transform(({ data }) => data),
]);

const givenKey = EVENT_SCHEMAS.SealKeyIntroduced.pick({ keyId: true, publicKey: true, validFrom: true })
  .extend({ validUntil: z.iso.datetime().nullish() })
  .loose();

const keysSchema = z.looseObject({
  keys: boundedList(givenKey, { min: 1 }),
});

/** Far more than a seal has, on one line or on several. */
const SEAL_CHARS_MAX = 65_536;

/**
 * Seals that were kept outside of the ledger: one as JSON, or any number a line each; other lines are passed by, as those of
 * keys, or what a full disk has cut. The file may have any size. @throws Error where there is no seal, or as `linesOfArgument`
 */
export function sealsOfFile(file: string): LedgerSealed[] {
  const seals: LedgerSealed[] = [];
  let text = '';
  for (const line of linesOfArgument(file, SEAL_CHARS_MAX)) {
    seals.push(...sealIn(line));
    if (text.length <= SEAL_CHARS_MAX) text += `${line}\n`;
  }
  if (seals.length === 0 && text.length <= SEAL_CHARS_MAX) seals.push(...sealIn(text));
  if (seals.length === 0) throw new Error('there is no seal in it');
  return seals;
}

function sealIn(text: string): LedgerSealed[] {
  const seal = sealLine.safeParse(jsonOf(text));
  return seal.success ? [seal.data] : [];
}

/** Keys as `gateway ledger keys` and /.well-known/ledger-keys give them. @throws Error that says what is wrong */
export function keysOfFile(text: string): TrustedKey[] {
  const keys = keysSchema.safeParse(jsonOf(text));
  if (!keys.success) throw new Error('expected keys as gateway ledger keys --json prints them');
  return keys.data.keys;
}

/** What `gateway ledger prove` has printed. @throws Error that says what is wrong */
export function proofOfFile(text: string): Proof {
  const proof = proofSchema.safeParse(jsonOf(text));
  // Of a name that stands twice others take another value than the one that was signed.
  if (!proof.success || !isAsWritten(text.trimEnd()))
    throw new Error('expected a proof as gateway ledger prove prints it');
  return proof.data;
}
