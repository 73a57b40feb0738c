import type { FuzzCase } from './fuzz-cases.ts';
import { type ReadAnswer, readAnswers } from './read-answers.ts';

/** Statuses of the error table with their `error.type` (interface, 4.2), written down a second time on purpose. */
const TYPE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  410: 'not_found_error',
  429: 'rate_limit_error',
  502: 'api_error',
  529: 'overloaded_error',
};

/** What is wrong with what a connection was answered; null where it is as it should be. */
export function judge({ kind, isFramingWhole, passedOn }: FuzzCase, received: Buffer): string | null {
  const answers = readAnswers(received);
  if (answers === null) return `no HTTP: ${received.toString('latin1').slice(0, 200)}`;
  if (isFramingWhole && answers.length !== 1) return `${answers.length} answers to one request`;
  for (const answer of answers) {
    const wrong = faultOf(answer, kind === 'answer') ?? (passedOn === null ? null : lossOf(answer, passedOn));
    if (wrong !== null) return `${wrong}\n${answer.head}\n\n${answer.body.toString('latin1').slice(0, 500)}`;
  }
  return null;
}

/** @param isUpstreamsFault whether what is wrong may be the upstream's */
function faultOf({ status, head, body, isWhole }: ReadAnswer, isUpstreamsFault: boolean): string | null {
  if (status === 200 || status === 204) return null;
  if (status >= 500 && !isUpstreamsFault) return 'a 5xx for a fault of the caller';
  const type = TYPE_OF_STATUS[status];
  if (type === undefined) return 'a status that is not in the table';
  if (!isWhole) return 'an error that is cut';
  const envelope = jsonOf(body);
  if (envelope?.type !== 'error' || envelope.error?.type !== type) return 'an error outside of the envelope';
  if (typeof envelope.error.message !== 'string' || envelope.error.message === '') return 'an error without a message';
  return /\r\nrequest-id: req_/i.test(head) || /\r\nconnection: close/i.test(head)
    ? null
    : 'an error without a request id';
}

/** What tells a stream's client that it has broken off: the gateway's own, behind what had come until then, and the end of a torn line. */
const BROKEN_OFF = /[\x80-\xbf]{0,3}\n?event: error\ndata: \{"type":"error".*"request_id":"req_\w+"\}\n\n$/;

/** What an upstream said with 200 comes as it said it: a JSON answer all of it, a stream as far as it comes. */
function lossOf({ status, head, body, isWhole }: ReadAnswer, passedOn: Buffer): string | null {
  if (status !== 200) return null;
  const isStream = /\r\ncontent-type: text\/event-stream/i.test(head);
  if (!isStream && !isWhole) return 'a JSON answer that is cut';
  if (!isStream && !body.equals(passedOn)) return 'other bytes than the upstream has said';
  const said = isStream ? Buffer.from(body.toString('latin1').replace(BROKEN_OFF, ''), 'latin1') : body;
  return passedOn.subarray(0, said.length).equals(said) ? null : 'other bytes than the upstream has said';
}

interface Envelope {
  readonly type?: unknown;
  readonly error?: { readonly type?: unknown; readonly message?: unknown };
}

function jsonOf(body: Buffer): Envelope | null {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    // That it is none is what is asked.
    return null;
  }
}
