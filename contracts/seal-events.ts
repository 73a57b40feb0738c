import { z } from 'zod';
import { HASH_PATTERN, instantField, ledgerIdField } from './event-fields.ts';

const hashField = z.string().regex(HASH_PATTERN);
/** The first 16 hexadecimal digits of the SHA-256 of the raw public key. */
const keyIdField = z.string().regex(/^[0-9a-f]{16}$/);
/** In the one form that the bytes have: the last letter of another may have bits that no byte has, and would change unseen. */
const base64Of = (bytes: number) =>
  z.base64().refine((text) => {
    const read = Buffer.from(text, 'base64');
    return read.length === bytes && read.toString('base64') === text;
  }, `expected ${bytes} bytes as base64`);
const SIGNATURE_BYTES = 64;
const PUBLIC_KEY_BYTES = 32;

/**
 * The stream `seals`: what fixes the log's other events, in the log's order, so that whoever has kept one seal elsewhere
 * finds any change of what it covers. Ordinals count from 0 in the sealed sequence: all events but those of this stream.
 */
export const sealEvents = {
  /** A range of events, chained to the one before it and signed (Ed25519 over the data without its signature). */
  LedgerSealed: z.strictObject({
    /** Its number, from 0. */
    seal: z.int().min(0),
    ledgerId: ledgerIdField,
    /** The ordinal of the range's first event. */
    first: z.int().min(0),
    count: z.int().min(1),
    /** The tree hash of RFC 6962 over the range alone. */
    root: hashField,
    /** `first` and `count` together. */
    treeSize: z.int().min(1),
    /** The same over everything from ordinal 0 on. */
    treeRoot: hashField,
    /** SHA-256 of the stored data text of the seal before; null for the first. */
    previous: hashField.nullable(),
    sealedAt: instantField,
    keyId: keyIdField,
    signature: base64Of(SIGNATURE_BYTES),
  }),
  /** From here on seals may be signed by this key: vouched for by one before it, or, the first, by itself. */
  SealKeyIntroduced: z.strictObject({
    keyId: keyIdField,
    /** The 32 raw bytes of the Ed25519 key. */
    publicKey: base64Of(PUBLIC_KEY_BYTES),
    validFrom: instantField,
    /** Whose signature it is; null is its own. */
    introducedBy: keyIdField.nullable(),
    signature: base64Of(SIGNATURE_BYTES),
  }),
} as const;
