import type { RequestId } from '../../contracts/ids.ts';
import type { UnsettleableRequest } from '../../ledger/identity/unsettleable.ts';
import type { RecoveredRequest } from '../../ledger/journal/journal.ts';

/** The journal's requests of earlier runs, as far as the ledger's generation is what they are from. */
export class LeftRequests {
  readonly all: readonly RecoveredRequest[];
  readonly #setAside = new Set<RequestId>();
  #ofEarlierGeneration: ReadonlySet<RequestId>;

  /** @param earlier as the folder's note has them, of which some may be settled by now */
  constructor(all: readonly RecoveredRequest[], earlier: readonly RequestId[]) {
    const open = new Set(all.map(({ requestId }) => requestId));
    this.all = all;
    this.#ofEarlierGeneration = new Set(earlier.filter((requestId) => open.has(requestId)));
  }

  /** Those that the ledger can still take. */
  get settleable(): readonly RecoveredRequest[] {
    return this.all.filter(({ requestId }) => !this.#setAside.has(requestId));
  }

  /** Those that began in an earlier generation of the ledger: the revision that each names says nothing of this one. */
  get ofEarlierGeneration(): ReadonlySet<RequestId> {
    return this.#ofEarlierGeneration;
  }

  /** From here on all that can be settled are of an earlier generation. */
  beginOnNextGeneration(unsettleable: readonly UnsettleableRequest[]): void {
    for (const { requestId } of unsettleable) this.#setAside.add(requestId);
    this.#ofEarlierGeneration = new Set(this.settleable.map(({ requestId }) => requestId));
  }
}
