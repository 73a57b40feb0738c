import { errorEnvelope } from '../contracts/errors.ts';

export interface RawSocket {
  readonly writable: boolean;
  /** The answer that is under way on it; Node's own mark. */
  readonly _httpMessage?: { readonly headersSent: boolean } | null;
  destroy(): void;
  end(text: string): void;
}

const CLIENT_ERRORS: ReadonlyMap<string | undefined, string> = new Map([
  ['HPE_HEADER_OVERFLOW', 'the headers are too long or too many'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'the request did not come whole in time'],
]);

/** What is not even HTTP is answered by hand, then the connection is closed. */
export function answerClientError(error: NodeJS.ErrnoException, socket: RawSocket): void {
  // Nothing may be written into an answer that is under way.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent === true) {
    socket.destroy();
    return;
  }
  const message = CLIENT_ERRORS.get(error.code) ?? 'the request is not valid HTTP';
  const body = JSON.stringify(errorEnvelope('invalid_request', message));
  const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nx-should-retry: false`;
  socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`);
}
