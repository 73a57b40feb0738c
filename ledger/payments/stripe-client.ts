import Stripe from 'stripe';
import { LIMITS } from '../../contracts/limits.ts';
import type { StripeConfiguration } from '../../contracts/payments-configuration.ts';
import { StripeHttp } from './stripe-http.ts';

/** The one whose objects this program knows; an account's own default may be another. */
const API_VERSION = '2026-10-28.endive';
/** Of each, to the last byte of its answer. */
const REQUEST_MS = 20_000;
export interface StripeClient {
  readonly stripe: Stripe;
  /** What is under way fails, its outcome unknown. */
  close(): void;
}

/** The package without what it does by itself: it retries nothing, since who asks again does so under the same key, and tells nobody how it is used. */
export function stripeClient(
  { baseUrl }: Pick<StripeConfiguration, 'baseUrl'>,
  secretKey: string,
  requestMs = REQUEST_MS,
): StripeClient {
  const { protocol, hostname, port } = new URL(baseUrl);
  const isPlain = protocol === 'http:';
  const http = new StripeHttp(isPlain ? 'http' : 'https', { keepAlive: true, maxSockets: LIMITS.paymentsAtOnceMax });
  const stripe = new Stripe(secretKey, {
    apiVersion: API_VERSION,
    protocol: isPlain ? 'http' : 'https',
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isPlain ? 80 : 443) : Number(port),
    httpClient: http,
    timeout: requestMs,
    maxNetworkRetries: 0,
    telemetry: false,
  });
  return { stripe, close: () => http.close() };
}

/** Stripe has refused, or could not be asked. Its own words, and what it answered, stand in no error of ours: only what names the fault. */
class StripeCallError extends Error {
  override readonly name = 'StripeCallError';

  constructor(error: InstanceType<typeof Stripe.errors.StripeError>) {
    super(`Stripe could not be asked, or has refused: ${faultOf(error)}`);
  }
}

/** By its names alone. */
function faultOf(error: InstanceType<typeof Stripe.errors.StripeError>): string {
  const { type, code, param, statusCode, requestId, raw } = error;
  const said = [wordOf(type), plainWordOf(code), plainWordOf(param), wordOf(statusCode), wordOf(requestId)];
  const unread =
    (raw as { readonly exception?: unknown } | undefined)?.exception === undefined ? null : 'no JSON object';
  return [...said, unread].filter((one) => one !== null).join(', ');
}

/** As Stripe's own words are written: no key is, for these have large letters. */
const plainWordOf = (value: unknown): string | null =>
  typeof value === 'string' && /^[a-z][a-z0-9_.[\]]{0,79}$/.test(value) ? value : null;

/** Why Stripe makes nothing of what it was asked, as things are: by this request it has charged nothing. Null where it may have. */
export function whyRefused(error: unknown): string | null {
  const { StripeInvalidRequestError, StripePermissionError, StripeAuthenticationError } = Stripe.errors;
  const isInvalid = error instanceof StripeInvalidRequestError && error.statusCode === 400;
  const isForbidden = error instanceof StripePermissionError || error instanceof StripeAuthenticationError;
  if (!(isInvalid || isForbidden) || error.code === 'idempotency_key_in_use') return null;
  return `Stripe has refused: ${faultOf(error)}`;
}

/** Whether Stripe has no more what was to be charged, or whom. */
export const isGone = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeInvalidRequestError &&
  error.code === 'resource_missing' &&
  (error.param === 'payment_method' || error.param === 'customer');

/** A name that Stripe gives something, as it may stand in an event or a log; null where it is none. */
export function wordOf(value: unknown): string | null {
  const word = typeof value === 'number' ? String(value) : value;
  return typeof word === 'string' && /^[\w.[\]-]{1,80}$/.test(word) ? word : null;
}

/** @throws StripeCallError instead of what the package throws, which holds the whole answer */
export async function asked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Stripe.errors.StripeError ? new StripeCallError(error) : error;
  }
}
