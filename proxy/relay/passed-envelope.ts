import { type ErrorType, errorEnvelope } from '../../contracts/errors.ts';

/** An upstream's refusal in the form that the specification has for errors. */
export interface PassedEnvelope {
  readonly status: number;
  /** JSON. */
  readonly body: string;
}

/** What is no envelope is quoted so far. */
const QUOTED_CHARS_MAX = 1_000;
const NOT_FOUND = 404;

/**
 * What an upstream says of a request, with its message: under our request id, and with a status and type of the
 * specification's table, into which 413 and 422 come as 400 (design, section 5). A field that we do not know stays.
 */
export function passedEnvelope(said: number, body: Buffer, requestId: string): PassedEnvelope {
  const isNotFound = said === NOT_FOUND;
  const status = isNotFound ? NOT_FOUND : 400;
  const type: ErrorType = isNotFound ? 'not_found_error' : 'invalid_request_error';
  const text = body.toString('utf8');
  const envelope = objectOf(parsed(text));
  const error = objectOf(envelope?.error);
  if (envelope === null || typeof error?.message !== 'string') {
    const quoted = text.trim().slice(0, QUOTED_CHARS_MAX);
    const message = `the model refused the request${quoted === '' ? '' : `: ${quoted}`}`;
    const code = isNotFound ? 'model_not_found' : 'invalid_request';
    return { status, body: JSON.stringify(errorEnvelope(code, message, requestId)) };
  }
  const told = { ...envelope, type: 'error', error: { ...error, type }, request_id: requestId };
  return { status, body: JSON.stringify(told) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It is quoted then.
    return null;
  }
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> | null =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : null;
