import { type Refusal, refusal } from '../../contracts/errors.ts';
import { JoinedBytes } from '../meter/joined-bytes.ts';
import { isEncoded, type UpstreamHeaders } from '../upstream/upstream.ts';
import type { UpstreamWords } from '../upstream/upstream-words.ts';
import { REFUSED_BODY_BYTES_MAX } from './limits.ts';
import { saidRefusal } from './said-refusal.ts';

/** Kept whole, for our credential may stand in it, cut anywhere; what cannot be read is told in our words. */
export class RefusedBody {
  readonly #status: number;
  readonly #headers: UpstreamHeaders;
  readonly #kept = new JoinedBytes();
  #bytes = 0;

  constructor(status: number, headers: UpstreamHeaders) {
    this.#status = status;
    this.#headers = headers;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.isTooLong) this.#kept.clear();
    else this.#kept.add(piece);
  }

  /** Nothing that is still to come changes what is told: it need not be waited for, and may never end. */
  get isTooLong(): boolean {
    return this.#bytes > REFUSED_BODY_BYTES_MAX;
  }

  end(words: UpstreamWords): Refusal {
    if (this.isTooLong || isEncoded(this.#headers))
      return refusal('invalid_request', 'the model refused the request, and what it said cannot be passed on');
    return saidRefusal(this.#status, this.#kept.bytes, words);
  }
}
