import { errorEnvelope } from '../contracts/errors.ts';
import type { RequestId } from '../contracts/ids.ts';
import { makeLast } from './connections/last-answer.ts';

interface RawSocket {
  readonly writable: boolean;
  /** The answer that is under way on it; Node's own mark. */
  readonly _httpMessage?: AnswerUnderWay | null;
  /** Node's own, too: the last request whose head it has read. */
  readonly parser?: { readonly incoming: Received | null } | null;
  destroy(): void;
  end(text: string): void;
}

/** `complete` when the request has come to its end. */
interface Received {
  readonly complete: boolean;
}

interface AnswerUnderWay {
  readonly headersSent: boolean;
  readonly req: Received;
  shouldKeepAlive: boolean;
}

const CLIENT_ERRORS: ReadonlyMap<string | undefined, string> = new Map([
  ['HPE_HEADER_OVERFLOW', 'the headers are too long or too many'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'the request did not come whole in time'],
]);

/** The client has gone: by a reset, or in the middle of a request, which may stand behind one that came whole. */
const HAS_LEFT: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'HPE_INVALID_EOF_STATE']);

/** How long a client that is answered while it sends has to read that, before its connection is gone. */
const LINGER_MS = 5_000;

/**
 * What is not even HTTP is answered by hand, then the connection is closed. Where it stands behind a request that came
 * whole, the answer under way belongs to that: it goes out as it is, and is the connection's last. Where a request has had its answer
 * before its body broke, that stays its only one.
 *
 * @param newId of the answer, where there is one, and of the request whose body is at fault; null where it is no request
 */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: RawSocket,
  newId: (request: object | null) => RequestId,
): void {
  const underWay = socket._httpMessage ?? null;
  if (HAS_LEFT.has(error.code) || !socket.writable) {
    socket.destroy();
    return;
  }
  if (underWay?.req.complete === true) {
    makeLast(underWay);
    return;
  }
  // Nothing may be written into an answer that has begun.
  if (underWay?.headersSent === true) {
    socket.destroy();
    return;
  }
  const isAnswered = underWay === null && socket.parser?.incoming?.complete === false;
  socket.end(isAnswered ? '' : answerTo(error, newId(underWay?.req ?? null)));
  // What it still sends is read and dropped: nothing is done any more for who cannot be answered (calling-client.ts).
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function answerTo({ code }: NodeJS.ErrnoException, id: RequestId): string {
  const message = CLIENT_ERRORS.get(code) ?? 'the request is not valid HTTP';
  const body = JSON.stringify(errorEnvelope('invalid_request', message, id));
  const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nx-should-retry: false\r\nrequest-id: ${id}`;
  return `${head}\r\nconnection: close\r\n\r\n${body}`;
}
