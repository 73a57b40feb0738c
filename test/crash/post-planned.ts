import { request as httpRequest, type IncomingMessage } from 'node:http';
import { bodyOf } from './plan-request.ts';
import type { PlannedRequest } from './planned-request.ts';

/**
 * What a client heard of its request:
 * `complete` every byte of a whole answer; `interrupted` the stream's error event; `refused` a whole error answer;
 * `nothing` anything less, from which it cannot tell what became of the request.
 */
type Heard = 'complete' | 'interrupted' | 'refused' | 'nothing';

export interface SentRequest {
  readonly planned: PlannedRequest;
  readonly accountId: string;
  readonly keyId: string;
  /** The gateway that it went to. */
  readonly url: string;
  readonly sentAtMs: number;
  /** The client went away on its own account. */
  readonly left: boolean;
  readonly heard: Heard;
  /** Null where no head came. */
  readonly status: number | null;
  /** Of an error answer. */
  readonly errorType: string | null;
}

export interface ClientKey {
  readonly accountId: string;
  readonly keyId: string;
  readonly key: string;
}

/** A client waits this long for an answer, then the run has failed: nothing of it takes longer. */
const ANSWER_MS_MAX = 240_000;

/** Sends a request over a connection of its own and listens until it ends, breaks or is left. Never rejects. */
export function postPlanned(url: string, key: ClientKey, planned: PlannedRequest): Promise<SentRequest> {
  const { promise, resolve, reject } = Promise.withResolvers<SentRequest>();
  const sentAtMs = Date.now();
  const pieces: Buffer[] = [];
  let response: IncomingMessage | null = null;
  let left = false;
  const request = httpRequest(`${url}/v1/messages`, {
    method: 'POST',
    agent: false,
    headers: { 'x-api-key': key.key, 'content-type': 'application/json', ...betaHeader(planned) },
  });
  let leave = planned.leaveAfterMs === null ? null : setTimeout(() => goAway(), planned.leaveAfterMs);
  const tooLong = setTimeout(
    () => reject(new Error(`${planned.id}: no end within ${ANSWER_MS_MAX} ms`)),
    ANSWER_MS_MAX,
  );
  const goAway = (): void => {
    left = true;
    request.destroy();
    done();
  };
  const done = (): void => {
    if (leave !== null) clearTimeout(leave);
    clearTimeout(tooLong);
    const { accountId, keyId } = key;
    resolve({ planned, accountId, keyId, url, sentAtMs, left, ...heardOf(response, Buffer.concat(pieces)) });
  };
  request.on('error', done);
  request.on('response', (message) => {
    response = message;
    message.on('data', (piece: Buffer) => {
      pieces.push(piece);
      if (planned.stopsReadingMs === null || leave !== null) return;
      message.pause();
      leave = setTimeout(goAway, planned.stopsReadingMs);
    });
    message.on('error', done);
    message.on('close', done);
  });
  request.end(bodyOf(planned));
  return promise;
}

const betaHeader = ({ betas }: PlannedRequest): Record<string, string> =>
  betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') };

const STREAM_END = /event: message_stop\ndata: \{[^\n]*\}\n\n/;

function heardOf(
  response: IncomingMessage | null,
  body: Buffer,
): { heard: Heard; status: number | null; errorType: string | null } {
  const status = response?.statusCode ?? null;
  if (response === null || status === null) return { heard: 'nothing', status: null, errorType: null };
  const text = body.toString('utf8');
  if (response.headers['content-type']?.startsWith('text/event-stream') === true) {
    const heard = STREAM_END.test(text) ? 'complete' : text.includes('event: error\n') ? 'interrupted' : 'nothing';
    return { heard, status, errorType: null };
  }
  const value = wholeJson(response, body);
  if (value === null) return { heard: 'nothing', status, errorType: null };
  const errorType = typeof value.error?.type === 'string' ? value.error.type : null;
  return { heard: status === 200 ? 'complete' : 'refused', status, errorType };
}

/** The body, where all bytes that were announced have come. */
function wholeJson(response: IncomingMessage, body: Buffer): { error?: { type?: unknown } } | null {
  const announced = Number(response.headers['content-length'] ?? Number.NaN);
  return body.length === announced ? JSON.parse(body.toString('utf8')) : null;
}
