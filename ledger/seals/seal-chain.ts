import type { KeyObject } from 'node:crypto';
import { decodeEvent } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { isAsWritten } from '../../contracts/json-object.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { hexOf, sha256 } from './merkle.ts';
import {
  introductionText,
  isBeforeKey,
  isSignedBy,
  keyIdOf,
  type LedgerSealed,
  latestOf,
  publicKeyOf,
  type SealKeyIntroduced,
  sealText,
} from './seal-signature.ts';

/** What does not hold, in words; of which seal, where it is one's, and whether its chain, its events, its tail or the file. */
export interface SealFault {
  readonly kind: 'chain' | 'key' | 'range' | 'order' | 'tail' | 'fork' | 'file' | 'hidden';
  readonly seal: number | null;
  /** Ordinals of the sealed range, from the first to the last. */
  readonly range: { readonly first: number; readonly last: number } | null;
  readonly problem: string;
}

/** A key that is known from outside the log. */
export interface TrustedKey extends Pick<SealKeyIntroduced, 'keyId' | 'publicKey' | 'validFrom'> {
  /** When another followed it, as is known there. */
  readonly validUntil?: string | null | undefined;
}

interface KnownKey {
  readonly key: KeyObject;
  readonly validFrom: string;
}

export const rangeOf = ({ first, count }: LedgerSealed): { readonly first: number; readonly last: number } => ({
  first,
  last: first + count - 1,
});

/** The stream of seals, taken event by event: each follows the one before, and is signed by a key that was introduced. */
export class SealChain {
  readonly faults: SealFault[] = [];
  /** How many seals there were. */
  seals = 0;
  newest: LedgerSealed | null = null;
  readonly #isTrusted: ((keyId: string) => boolean) | null;
  readonly #keys = new Map<string, KnownKey>();
  readonly #given: readonly string[];
  /** Key ids, in the order of their introduction. */
  readonly #introduced: string[] = [];
  /** Which of them has signed the newest seal. */
  #rank = 0;
  /** The first two are of one instant: a rotation has introduced both, and no seal the first. */
  #isBeforeSeals = false;
  #firstFrom: string | null = null;
  #previous: string | null = null;
  #revision = 0;

  /** @param trusted keys from outside, besides which only those count that one of them has introduced; null trusts the log's first */
  constructor(trusted: readonly TrustedKey[] | null) {
    const ids = new Set(trusted?.map(({ keyId }) => keyId));
    this.#given = [...ids];
    this.#isTrusted = trusted === null ? null : (keyId) => ids.has(keyId);
    for (const key of trusted ?? []) this.#know(key);
  }

  /** The seal, also one that has faults; null where the event is none. */
  take(event: RecordedEvent): LedgerSealed | null {
    if (event.revision !== this.#revision)
      this.#fault('chain', null, `the stream of seals goes from revision ${this.#revision - 1} to ${event.revision}`);
    this.#revision = event.revision + 1;
    // Of a name that stands twice others take another value than the one that was signed.
    if (![event.data, event.metadata].every(isAsWritten))
      this.#fault(
        'chain',
        null,
        `revision ${event.revision} is not as it is written: a name stands in it twice, or something between`,
      );
    try {
      const { type, data } = decodeEvent(event);
      if (type === 'SealKeyIntroduced') this.#introduce(data);
      else if (type === 'LedgerSealed') return this.#follow(data, event.data);
      else this.#fault('chain', null, `revision ${event.revision} is ${type}, which is no seal`);
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error;
      this.#fault('chain', null, error.message);
    }
    return null;
  }

  /** The stream has ended: whoever was given keys of it has had them from seals. */
  end(): void {
    for (const keyId of this.#given)
      if (!this.#introduced.includes(keyId))
        this.#fault('key', null, `key ${keyId} is given, and nothing in the stream of seals introduces it`);
    if (this.#isTrusted !== null && this.seals === 0 && !this.#isBeforeSeals)
      this.#fault('tail', null, 'keys are given, and there is no seal: all of them are taken out');
  }

  #introduce(introduced: SealKeyIntroduced): void {
    const problem = this.#whyUnknown(introduced);
    if (problem !== null) this.#fault('key', null, `key ${introduced.keyId} ${problem}`);
    else {
      this.#know(introduced);
      this.#introduced.push(introduced.keyId);
      if (this.#introduced.length === 2) this.#isBeforeSeals = introduced.validFrom === this.#firstFrom;
      this.#firstFrom ??= introduced.validFrom;
    }
  }

  #whyUnknown(introduced: SealKeyIntroduced): string | null {
    const { keyId, publicKey, introducedBy, signature } = introduced;
    if (keyIdOf(publicKey) !== keyId) return 'is introduced with the public key of another';
    if (this.#introduced.includes(keyId)) return 'is introduced a second time';
    if (introducedBy === null && this.#isTrusted === null && this.#keys.size > 0)
      return 'introduces itself, though there is a key already, which does not vouch for it';
    if (introducedBy === null && this.#isTrusted?.(keyId) === false)
      return 'introduces itself, and is none of the keys that are given';
    const introducer = introducedBy === null ? keyOrNull(publicKey) : this.#keys.get(introducedBy)?.key;
    if (introducer === undefined || introducer === null)
      return `is introduced by ${introducedBy ?? 'itself'}, which is no known key`;
    if (introducedBy !== null && this.#introduced.indexOf(introducedBy) < this.#rank)
      return `is introduced by ${introducedBy}, which a key has followed that has sealed`;
    if (!isSignedBy(introducer, introductionText(introduced), signature))
      return `is introduced with a signature that is not of ${introducedBy ?? 'its own'}`;
    return null;
  }

  /** Of one that was given, and is introduced here, both say from when on. */
  #know({ keyId, publicKey, validFrom }: TrustedKey): void {
    const key = keyOrNull(publicKey);
    if (key === null || keyIdOf(publicKey) !== keyId) return;
    this.#keys.set(keyId, { key, validFrom: latestOf(validFrom, this.#keys.get(keyId)?.validFrom ?? '') });
  }

  #follow(seal: LedgerSealed, stored: string): LedgerSealed {
    const before = this.newest;
    const expected = before === null ? 0 : before.seal + 1;
    const sealed = before?.treeSize ?? 0;
    if (seal.seal !== expected) this.#fault('chain', seal, `stands where seal ${expected} is expected`);
    else if (seal.previous !== this.#previous) this.#fault('chain', seal, 'does not name the seal before it as it is');
    if (seal.first !== sealed)
      this.#fault('chain', seal, `begins at event ${seal.first}, and what is sealed before ends before ${sealed}`);
    if (seal.treeSize !== seal.first + seal.count) this.#fault('chain', seal, 'says two ends of its range');
    if (before !== null && seal.ledgerId !== before.ledgerId) this.#fault('chain', seal, `is of ${seal.ledgerId}`);
    this.#checkSignature(seal);
    this.newest = seal;
    this.#previous = hexOf(sha256(stored));
    this.seals += 1;
    return seal;
  }

  #checkSignature(seal: LedgerSealed): void {
    const known = this.#keys.get(seal.keyId);
    const rank = this.#introduced.indexOf(seal.keyId);
    if (known === undefined) this.#fault('key', seal, `is signed by ${seal.keyId}, which is no known key`);
    else if (rank === -1) this.#fault('key', seal, `is signed by ${seal.keyId} before that is introduced`);
    // Of two gateways one goes on with the key before until the other has sealed with the next.
    else if (rank < this.#rank)
      this.#fault('key', seal, `is signed by ${seal.keyId} after a seal by a key that followed it`);
    else if (isBeforeKey(seal, known.validFrom))
      this.#fault('key', seal, `is of ${seal.sealedAt}, and its key ${seal.keyId} valid from ${known.validFrom}`);
    else if (!isSignedBy(known.key, sealText(seal), seal.signature))
      this.#fault('key', seal, `has a signature that is not of its key ${seal.keyId}`);
    this.#rank = Math.max(this.#rank, rank);
  }

  #fault(kind: SealFault['kind'], seal: LedgerSealed | null, problem: string): void {
    this.faults.push({ kind, seal: seal?.seal ?? null, range: seal === null ? null : rangeOf(seal), problem });
  }
}

function keyOrNull(publicKey: string): KeyObject | null {
  try {
    return publicKeyOf(publicKey);
  } catch {
    return null;
  }
}
