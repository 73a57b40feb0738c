/** The error table: every way in which the gateway refuses or fails (interface, 4.2). A test compares the README. */
export const ERROR_TABLE = {
  invalid_request: entry(400, 'invalid_request_error', null, 'a field is missing or wrong; the message names it'),
  body_too_large: entry(400, 'invalid_request_error', null, 'the body is over 32 MiB'),
  thread_unsupported: entry(400, 'invalid_request_error', null, 'the model runs where message threads are not kept'),
  missing_credential: entry(401, 'authentication_error', null, 'neither x-api-key nor Authorization: Bearer is sent'),
  invalid_credential: entry(401, 'authentication_error', null, 'the key is unknown, revoked or expired'),
  insufficient_credits: entry(402, 'billing_error', null, 'what the request could cost does not fit the balance'),
  trial_expired: entry(402, 'billing_error', null, 'the trial is over and no other credits are left'),
  plan_ended: entry(402, 'billing_error', null, 'the plan was not paid in time and no credits are left'),
  account_limit_reached: entry(402, 'billing_error', null, "it does not fit the account's monthly limit"),
  member_limit_reached: entry(402, 'billing_error', null, "it does not fit the monthly limit of the key's member"),
  key_limit_reached: entry(402, 'billing_error', null, "it does not fit the key's monthly limit"),
  account_suspended: entry(403, 'permission_error', null, 'the account is suspended'),
  model_not_allowed: entry(
    403,
    'permission_error',
    null,
    "the key's allow-list, or the account's plan, lacks the model",
  ),
  model_not_found: entry(404, 'not_found_error', null, 'the catalog has no such model'),
  route_not_found: entry(404, 'not_found_error', null, 'no such path, or not with this method'),
  model_retired: entry(410, 'not_found_error', null, 'the model is retired; the message names its replacement'),
  rate_limited: entry(
    429,
    'rate_limit_error',
    1,
    'a limit of the key or the account is reached; the message says which',
  ),
  internal: entry(500, 'api_error', 1, 'a fault of the gateway; the log has it under the request id'),
  upstream_failed: entry(502, 'api_error', 1, 'no upstream of the model answered usefully'),
  upstream_refused_gateway: entry(502, 'api_error', null, "the upstream refused the gateway's own credential"),
  upstream_overloaded: entry(
    529,
    'overloaded_error',
    2,
    'an upstream of the model is overloaded, and none has answered',
  ),
  gateway_overloaded: entry(529, 'overloaded_error', 1, 'a bound of the gateway is reached; the message says which'),
  account_set_aside: entry(
    529,
    'overloaded_error',
    5,
    "the account's events cannot be relied on; the message says why",
  ),
  not_ready: entry(529, 'overloaded_error', 5, 'the gateway has not caught up with its ledger yet'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/** `error.type` of the envelope (interface, 4.2). */
type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'billing_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'api_error'
  | 'overloaded_error';

export interface ErrorEntry {
  readonly status: number;
  readonly type: ErrorType;
  /** Seconds after which the same request can succeed, where the refusal knows no better; null: it never can. */
  readonly retryAfterS: number | null;
  /** When it happens: the words of the README's table. */
  readonly when: string;
}

function entry(status: number, type: ErrorType, retryAfterS: number | null, when: string): ErrorEntry {
  return { status, type, retryAfterS, when };
}

/** An expected refusal: a value, not an exception. */
export interface Refusal {
  readonly type: 'refusal';
  readonly code: ErrorCode;
  readonly message: string;
  /** Instead of the table's: whole seconds, small and truthful, because SDKs obey `retry-after` without a cap. */
  readonly retryAfterS?: number;
  /** Whether more credits would do, and nothing else: whoever refuses for want of money says so. */
  readonly lacksCreditsAlone?: boolean;
  /** The value of `x-svc-deprecation`, where the refused request named a deprecated model: every answer carries it. */
  readonly deprecation?: string;
}

export function refusal(code: ErrorCode, message: string, retryAfterS?: number): Refusal {
  return retryAfterS === undefined
    ? { type: 'refusal', code, message }
    : { type: 'refusal', code, message, retryAfterS };
}

/** The headers that SDKs retry by, or do not: `x-should-retry` is obeyed before the status is looked at. */
export function retryHeaders(refused: Refusal): Readonly<Record<string, string>> {
  const seconds = retryAfterOf(refused);
  return seconds === null ? NEVER_AGAIN : { 'x-should-retry': 'true', 'retry-after': String(seconds) };
}

/** After how many seconds another try may succeed; null where none can. */
export const retryAfterOf = ({ code, retryAfterS }: Refusal): number | null =>
  retryAfterS ?? ERROR_TABLE[code].retryAfterS;

/** Of what would fail again in the same way. */
const NEVER_AGAIN: Readonly<Record<string, string>> = { 'x-should-retry': 'false' };

/** What SDKs are steered by beyond the status: `error.details.error_code`. */
const ERROR_DETAILS: Partial<Record<ErrorCode, { readonly error_code: string }>> = {
  thread_unsupported: { error_code: 'thread_unsupported_request' },
};

interface ErrorEnvelope {
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
