import { type Refusal, refusal } from '../../contracts/errors.ts';
import { isObject } from '../../contracts/json-object.ts';
import { parseJson } from '../upstream/bounded-json.ts';
import type { UpstreamWords } from '../upstream/upstream-words.ts';

const MESSAGE_CHARS_MAX = 2_000;
const NOT_FOUND = 404;
/** SDKs are steered by it: they go on without message threads. */
const THREAD_UNSUPPORTED = 'thread_unsupported_request';

/**
 * What an upstream says of a request, with its message, as a refusal of our own (interface, 4.4): its status and type are of
 * the error table, into which 413 and 422 come as 400, and our credential is in it in no spelling that is looked for (What holds, 14). What is
 * no envelope is quoted.
 */
export function saidRefusal(status: number, body: Buffer, words: UpstreamWords): Refusal {
  const text = body.toString('utf8');
  const envelope = parseJson(text);
  const error = isObject(envelope) && isObject(envelope.error) ? envelope.error : null;
  if (typeof error?.message === 'string')
    return refusal(codeOf(status, error.details), words.sentence(error.message, MESSAGE_CHARS_MAX));
  const quoted = words.sentence(text.trim(), MESSAGE_CHARS_MAX);
  return refusal(codeOf(status, null), `the model refused the request${quoted === '' ? '' : `: ${quoted}`}`);
}

function codeOf(status: number, details: unknown): 'model_not_found' | 'thread_unsupported' | 'invalid_request' {
  if (status === NOT_FOUND) return 'model_not_found';
  return isObject(details) && details.error_code === THREAD_UNSUPPORTED ? 'thread_unsupported' : 'invalid_request';
}
