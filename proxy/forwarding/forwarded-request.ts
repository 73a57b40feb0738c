import type { CatalogModel } from '../../contracts/catalog.ts';
import type { Refusal } from '../../contracts/errors.ts';
import type { Terms } from '../admission/terms.ts';
import type { ObservedRequest } from '../observation/observed-request.ts';
import type { TraceContext } from '../observation/trace-context.ts';
import type { RateTicket } from '../rate-limits/rate-ticket.ts';
import type { OpenRequest } from '../request-accounting.ts';
import type { BodyShare } from '../request-body/body-share.ts';
import type { RequestBytes } from '../request-body/request-bytes.ts';
import type { MessageFacts } from '../request-body/request-facts.ts';
import type { Deployment } from '../upstream/upstream-directory.ts';

/** An admitted request on its way upstream: what the forwarder needs to know of it. */
export interface ForwardedRequest {
  readonly money: OpenRequest;
  readonly model: CatalogModel;
  /** The window and the prices that it was held by, and the betas that go upstream. */
  readonly terms: Terms;
  /** The client's bytes, and what was read of them. */
  readonly bytes: RequestBytes;
  readonly facts: MessageFacts;
  /** In the budget of bodies: an answer that is kept until it is whole counts there, too. */
  readonly room: Pick<BodyShare, 'take' | 'owner'>;
  readonly maxTokens: number;
  readonly isStream: boolean;
  /** Asked for by body or header. */
  readonly asksForFast: boolean;
  /** Asked for, and the model has it. */
  readonly mayRunFast: boolean;
  /** What its provider counted for its input before it was admitted; null where it was not asked. */
  readonly inputTokensCounted: number | null;
  readonly version: string | null;
  /** As its caller says; null where it says nothing. */
  readonly trace: TraceContext | null;
  readonly deprecation: string | null;
  /** What it has taken of its caller's limits. It ends with the request's last upstream call. */
  readonly ticket: RateTicket;
  /** Null where nobody observes requests. */
  readonly observed: ObservedRequest | null;
  /** What its caller has left of the limits a minute: names and values in turn, for the answer's head. */
  readonly rateLimitHeaders: () => readonly string[];
  /** Where the model runs, in the order in which to try. At least one. */
  readonly deployments: readonly Deployment[];
  /** Why its caller may call nothing now, as the views say; null where the caller may. Asked before each further call. */
  readonly refuseByStanding: () => Refusal | null;
}
