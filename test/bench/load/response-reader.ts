const HEAD_END = Buffer.from('\r\n\r\n');
const EVENT_MARK = Buffer.from('event: ');
const LAST_CHUNK = '0\r\n\r\n';
const HEAD_BYTES_MAX = 16 * 1024;

/**
 * Finds the end of one response after another on a connection with one request at a time, parsing as little as that
 * needs. A chunked body ends with "0\r\n\r\n", which our answers' bodies cannot contain: they have no CR.
 */
export class ResponseReader {
  /** Events seen in the response under way; an event cut in two by the transport is not among them. */
  events = 0;
  readonly #countsEvents: boolean;
  #head: Buffer | null = null;
  /** Bytes of the body still to come; null while the head is incomplete, `chunked` for a body without a length. */
  #left: number | 'chunked' | null = null;
  #tail = '';
  #hasBody = false;

  constructor(countsEvents: boolean) {
    this.#countsEvents = countsEvents;
  }

  /** Whether a byte of the body has come. */
  get hasBody(): boolean {
    return this.#hasBody;
  }

  /** Whether the response is complete with these bytes. @throws Error for any status but 200. */
  push(bytes: Buffer): boolean {
    const body = this.#left === null ? this.#readHead(bytes) : bytes;
    if (body === null || body.length === 0) return false;
    this.#hasBody = true;
    if (this.#countsEvents) this.#countEvents(body);
    if (this.#left === 'chunked') {
      this.#tail = (this.#tail + body.toString('latin1', Math.max(0, body.length - LAST_CHUNK.length))).slice(
        -LAST_CHUNK.length,
      );
      return this.#tail === LAST_CHUNK;
    }
    this.#left = Number(this.#left) - body.length;
    return this.#left <= 0;
  }

  /** Makes ready for the next response. */
  restart(): void {
    this.events = 0;
    this.#left = null;
    this.#tail = '';
    this.#hasBody = false;
  }

  /** What of these bytes belongs to the body; null while the head is incomplete. */
  #readHead(bytes: Buffer): Buffer | null {
    const received = this.#head === null ? bytes : Buffer.concat([this.#head, bytes]);
    const end = received.indexOf(HEAD_END);
    if (end < 0) {
      if (received.length > HEAD_BYTES_MAX) throw new Error('a head without an end');
      this.#head = received;
      return null;
    }
    this.#head = null;
    const head = received.toString('latin1', 0, end);
    if (!head.startsWith('HTTP/1.1 200 '))
      throw new Error(`not answered with 200: ${received.toString('latin1', 0, 600)}`);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#left = length === undefined ? 'chunked' : Number(length);
    return received.subarray(end + HEAD_END.length);
  }

  #countEvents(body: Buffer): void {
    for (let at = body.indexOf(EVENT_MARK); at >= 0; at = body.indexOf(EVENT_MARK, at + EVENT_MARK.length))
      this.events++;
  }
}
