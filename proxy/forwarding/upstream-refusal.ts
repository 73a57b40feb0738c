import { type ErrorCode, type Refusal, refusal, retryAfterOf } from '../../contracts/errors.ts';
import type { UpstreamErrorKind } from '../upstream/upstream.ts';

/** Statuses that are the caller's matter and are passed on, with their message (interface, 4.4). */
const PASSED_ON = new Set([400, 404, 413, 422]);
const OVERLOADED = new Set([429, 503, 529]);
const CREDENTIAL = new Set([401, 403]);

const NO_ANSWER = 'the model did not answer; try again';
const RETRY_AFTER_S = 2;
/** SDKs obey `retry-after` without a cap, so a long one of an upstream is not handed on. */
const RETRY_AFTER_MAX_S = 30;

export const isPassedOn = (status: number): boolean => PASSED_ON.has(status);

export const isGatewaysFault = (status: number): boolean => CREDENTIAL.has(status);

/**
 * Of how several deployments of a model failed, what the client is told: the same whichever failed first. What is worth
 * another try goes before what is not, an overload before other failures; of two alike the one that is over sooner.
 */
export function worthTelling(one: Refusal | null, other: Refusal): Refusal {
  if (one === null) return other;
  const order = TOLD_FIRST.indexOf(one.code) - TOLD_FIRST.indexOf(other.code) || waitS(one) - waitS(other);
  if (order !== 0) return order < 0 ? one : other;
  return one.message <= other.message ? one : other;
}

const waitS = (refused: Refusal): number => retryAfterOf(refused) ?? 0;

/** All codes that the failure of a deployment has. */
const TOLD_FIRST: readonly ErrorCode[] = [
  'upstream_overloaded',
  'gateway_overloaded',
  'upstream_failed',
  'upstream_refused_gateway',
];

/** How a deployment failed that answered with this status. */
export function refusalForStatus(status: number, retryAfterS: number | null): Refusal {
  if (OVERLOADED.has(status)) {
    const after = Math.min(Math.max(retryAfterS ?? RETRY_AFTER_S, 1), RETRY_AFTER_MAX_S);
    return refusal('upstream_overloaded', 'the model is overloaded upstream; retry with backoff', after);
  }
  if (CREDENTIAL.has(status))
    return refusal('upstream_refused_gateway', 'the gateway could not reach the model; its operator has been told');
  return refusal('upstream_failed', NO_ANSWER);
}

export const refusalForFailure = (kind: UpstreamErrorKind): Refusal => {
  if (kind === 'descriptors')
    return refusal(
      'gateway_overloaded',
      'the gateway has no file descriptor left for a connection to the model',
      RETRY_AFTER_S,
    );
  if (kind === 'unreadable') return UNREADABLE;
  return refusal(
    'upstream_failed',
    kind === 'timeout' || kind === 'overdue' ? 'the model did not answer in time; try again' : NO_ANSWER,
  );
};

/**
 * Of an answer with status 200 that is no Message, or not all of one, encoded in a way that is not known here, or no stream where
 * one was asked for, or one where none was.
 */
export const UNREADABLE: Refusal = refusal(
  'upstream_failed',
  'the model gave an answer that cannot be read; try again',
);
