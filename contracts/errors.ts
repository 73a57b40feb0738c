/**
 * The error table: every way in which the gateway refuses or fails a request. The README's table is compared with it
 * by a test. Statuses and types are those of the gateway's interface specification.
 */
export const ERROR_TABLE = {
  invalid_request: entry(400, 'invalid_request_error', false, 'a field is missing or wrong; the message names it'),
  body_too_large: entry(400, 'invalid_request_error', false, 'the body is over 32 MiB'),
  thread_unsupported: entry(400, 'invalid_request_error', false, 'the model runs where message threads are not kept'),
  missing_credential: entry(401, 'authentication_error', false, 'neither x-api-key nor Authorization: Bearer is sent'),
  invalid_credential: entry(401, 'authentication_error', false, 'the key is unknown, revoked or expired'),
  insufficient_credits: entry(402, 'billing_error', false, 'what the request could cost does not fit the balance'),
  trial_expired: entry(402, 'billing_error', false, 'the trial is over and no other credits are left'),
  account_limit_reached: entry(402, 'billing_error', false, "it does not fit the account's monthly limit"),
  key_limit_reached: entry(402, 'billing_error', false, "it does not fit the key's monthly limit"),
  account_suspended: entry(403, 'permission_error', false, 'the account is suspended'),
  model_not_allowed: entry(403, 'permission_error', false, "the key's allow-list lacks the model"),
  model_not_found: entry(404, 'not_found_error', false, 'the catalog has no such model'),
  route_not_found: entry(404, 'not_found_error', false, 'no such path, or not with this method'),
  model_retired: entry(410, 'not_found_error', false, 'the model is retired; the message names its replacement'),
  rate_limited: entry(429, 'rate_limit_error', true, 'too many requests or tokens in the current window'),
  internal: entry(500, 'api_error', true, 'a fault of the gateway; the log has it under the request id'),
  upstream_failed: entry(502, 'api_error', true, 'no upstream of the model answered usefully'),
  upstream_refused_gateway: entry(502, 'api_error', false, "the upstream refused the gateway's own credential"),
  upstream_overloaded: entry(529, 'overloaded_error', true, 'every upstream of the model is overloaded'),
  gateway_overloaded: entry(529, 'overloaded_error', true, 'a bound of the gateway is reached; the message says which'),
  not_ready: entry(529, 'overloaded_error', true, 'the gateway has not caught up with its ledger yet'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/** `error.type` of the envelope (specification, part Errors). */
export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'billing_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'api_error'
  | 'overloaded_error';

export interface ErrorEntry {
  /** HTTP status. */
  readonly status: number;
  readonly type: ErrorType;
  /** Whether the same request can succeed later without a change by the caller. */
  readonly canRetry: boolean;
  /** When it happens: the words of the README's table. */
  readonly when: string;
}

function entry(status: number, type: ErrorType, canRetry: boolean, when: string): ErrorEntry {
  return { status, type, canRetry, when };
}

/** An expected refusal: a value, not an exception. */
export interface Refusal {
  readonly type: 'refusal';
  readonly code: ErrorCode;
  readonly message: string;
  /** Whole seconds for the `retry-after` header; small and truthful, because SDKs obey it without a cap. */
  readonly retryAfterS?: number;
  /** The value of `x-svc-deprecation`, where the refused request named a deprecated model: every answer carries it. */
  readonly deprecation?: string;
}

export function refusal(code: ErrorCode, message: string, retryAfterS?: number): Refusal {
  return retryAfterS === undefined
    ? { type: 'refusal', code, message }
    : { type: 'refusal', code, message, retryAfterS };
}

/** What SDKs are steered by beyond the status: `error.details.error_code`. */
const ERROR_DETAILS: Partial<Record<ErrorCode, { readonly error_code: string }>> = {
  thread_unsupported: { error_code: 'thread_unsupported_request' },
};

export interface ErrorEnvelope {
  readonly type: 'error';
  readonly error: {
    readonly type: ErrorType;
    readonly message: string;
    readonly details?: { readonly error_code: string };
  };
  readonly request_id?: string;
}

export function errorEnvelope(code: ErrorCode, message: string, requestId?: string): ErrorEnvelope {
  const details = ERROR_DETAILS[code];
  const error = { type: ERROR_TABLE[code].type, message, ...(details === undefined ? {} : { details }) };
  return requestId === undefined ? { type: 'error', error } : { type: 'error', error, request_id: requestId };
}
