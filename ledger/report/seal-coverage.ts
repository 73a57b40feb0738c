import { decodeEvent } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';

/** How far a ledger's events are sealed, by what the seals say. */
export class SealCoverage {
  readonly #month: string;
  /** Events from the log's beginning on that seals without a gap between them cover. */
  sealedThrough = 0;
  /** Of the month: how many, the first and last, when the last was made, and by which keys. */
  seals = 0;
  firstSeal: number | null = null;
  lastSeal: number | null = null;
  lastSealedAt: string | null = null;
  readonly keys = new Set<string>();
  hasGap = false;

  constructor(month: string) {
    this.#month = month;
  }

  /** Of the stream `seals`, each in its order. Whether a seal holds is for `gateway ledger verify --seals`. */
  add(recorded: RecordedEvent): void {
    const event = decodeEvent(recorded);
    if (event.type !== 'LedgerSealed') return;
    const { seal, first, treeSize, sealedAt, keyId } = event.data;
    this.hasGap ||= first !== this.sealedThrough;
    if (!this.hasGap) this.sealedThrough = treeSize;
    if (!sealedAt.startsWith(this.#month)) return;
    this.seals += 1;
    this.firstSeal ??= seal;
    this.lastSeal = seal;
    this.lastSealedAt = sealedAt;
    this.keys.add(keyId);
  }
}
