const HEAD_END = Buffer.from('\r\n\r\n');
const REQUEST_BYTES_MAX = 1024 * 1024;

/**
 * Cuts what a connection receives into requests, with no more parsing than that needs: a head with a content-length.
 * One request at a time is under way on a connection, as HTTP/1.1 clients do it.
 */
export class RequestReader {
  #pending: Buffer | null = null;

  /** The whole request once its last byte is there, else null. @throws Error for what no contender sends. */
  push(received: Buffer): Buffer | null {
    const bytes = this.#pending === null ? received : Buffer.concat([this.#pending, received]);
    if (bytes.length > REQUEST_BYTES_MAX) throw new Error(`a request of more than ${REQUEST_BYTES_MAX} bytes`);
    const length = requestLength(bytes);
    if (length === null || bytes.length < length) {
      this.#pending = bytes;
      return null;
    }
    if (bytes.length > length) throw new Error('a pipelined request');
    this.#pending = null;
    return bytes;
  }
}

function requestLength(bytes: Buffer): number | null {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const head = bytes.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`a request without content-length: ${head}`);
  return headEnd + HEAD_END.length + Number(length);
}
