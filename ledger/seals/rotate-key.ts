import { encodeEvents, type Recording } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { DomainEvent } from '../../contracts/events.ts';
import { NO_STREAM, type Revision, SEALS_STREAM } from '../../contracts/ids.ts';
import { SEAL_LIMITS } from './limits.ts';
import { introductionOf, type SealKey } from './seal-keys.ts';
import {
  introductionText,
  isSignedBy,
  type LedgerSealed,
  latestOf,
  publicKeyOf,
  type SealKeyIntroduced,
} from './seal-signature.ts';
import { readSealEvent } from './sealed-sequence.ts';

/** A key, and when another took over from it; null is not yet. */
export type KeyWithValidity = SealKeyIntroduced & { readonly validUntil: string | null };

/** In the order of their introduction. */
export const withValidity = (keys: readonly SealKeyIntroduced[]): KeyWithValidity[] =>
  keys.map((key, index) => ({ ...key, validUntil: keys[index + 1]?.validFrom ?? null }));

/** Those for which nobody before them vouches as they say. */
export function unvouched(keys: readonly SealKeyIntroduced[]): SealKeyIntroduced[] {
  return keys.filter((key, index) => {
    const by = key.introducedBy === null ? key : keys.slice(0, index).find(({ keyId }) => keyId === key.introducedBy);
    return by === undefined || !isSignedBy(publicKeyOf(by.publicKey), introductionText(key), key.signature);
  });
}

interface SealKeys {
  /** In the order of their introduction. */
  readonly keys: readonly SealKeyIntroduced[];
  readonly newest: LedgerSealed | null;
  readonly revision: Revision;
}

/** @throws EventLogError, UnreadableEventError */
export async function readSealKeys(log: EventLog): Promise<SealKeys> {
  const keys: SealKeyIntroduced[] = [];
  let newest: LedgerSealed | null = null;
  let revision: Revision = NO_STREAM;
  for await (const recorded of log.readStream(SEALS_STREAM)) {
    const event = readSealEvent(recorded);
    if (event.type === 'SealKeyIntroduced') keys.push(event.data);
    else newest = event.data;
    revision = recorded.revision;
  }
  return { keys, newest, revision };
}

interface Rotation {
  /** Null where it is lost: then the next one has nobody to vouch for it. */
  readonly from: SealKey | null;
  readonly to: SealKey;
  readonly recording: Recording;
}

type RotationAnswer =
  /** With what was written; none where the ledger knew the key already. */
  | { readonly type: 'done'; readonly events: readonly DomainEvent[] }
  /** The ledger has keys, and this one, which is to vouch for the next, is none of them. */
  | { readonly type: 'unknown key'; readonly keyId: string }
  /** It vouches for nobody any more: the ledger is sealed by one that has followed it. */
  | { readonly type: 'followed'; readonly keyId: string; readonly by: string };

/** Whether a key may vouch for the next: the ledger knows it, and is not sealed by one that has followed it. */
export function standingOf(keyId: string, { keys, newest }: Pick<SealKeys, 'keys' | 'newest'>): KeyStanding {
  const rankOf = (id: string): number => keys.findIndex((key) => key.keyId === id);
  if (rankOf(keyId) === -1) return 'unknown';
  return newest !== null && rankOf(keyId) < rankOf(newest.keyId) ? 'followed' : 'current';
}

type KeyStanding = 'unknown' | 'followed' | 'current';

/** Introduces the next key into the ledger. @throws EventLogError; Error when others write to the stream again and again */
export async function rotateSealKey(log: EventLog, { from, to, recording }: Rotation): Promise<RotationAnswer> {
  for (let attempt = 1; attempt <= SEAL_LIMITS.rotateAttempts; attempt++) {
    const known = await readSealKeys(log);
    const { keys, newest, revision } = known;
    if (standingOf(to.keyId, known) !== 'unknown') return { type: 'done', events: [] };
    const standing = from === null ? null : standingOf(from.keyId, known);
    if (from !== null && keys.length > 0 && standing === 'unknown') return { type: 'unknown key', keyId: from.keyId };
    if (from !== null && newest !== null && standing === 'followed')
      return { type: 'followed', keyId: from.keyId, by: newest.keyId };
    // Whoever introduced the one before may have had a clock that was ahead of this one.
    const validFrom = latestOf(recording.recordedAt, keys.at(-1)?.validFrom ?? '');
    const first = from === null || standing !== 'unknown' ? [] : [introductionOf(from, null, validFrom)];
    const events = [...first, introductionOf(to, from, validFrom)].map(
      (data): DomainEvent => ({ type: 'SealKeyIntroduced', data }),
    );
    const { type } = await log.append(SEALS_STREAM, revision, encodeEvents(events, recording));
    if (type === 'appended') return { type: 'done', events };
  }
  throw new Error(`others have written to the stream ${SEALS_STREAM} ${SEAL_LIMITS.rotateAttempts} times in between`);
}
