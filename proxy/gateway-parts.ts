import type { Logger } from 'pino';
import type { Configuration } from '../contracts/configuration.ts';
import type { Projections } from '../projections/projections.ts';
import type { CreditFleet } from './admission/credit-fleet.ts';
import type { Availability } from './availability.ts';
import type { ConnectionBounds } from './connections/bound-connections.ts';
import type { TrustedProxies } from './connections/trusted-proxies.ts';
import type { ForwardingParts } from './forwarding/forwarding-parts.ts';
import type { Holds } from './holds.ts';
import type { InFlight } from './in-flight.ts';
import type { LoopDelay } from './loop-delay.ts';
import type { RateLimits } from './rate-limits/rate-limits.ts';
import type { BodyBudget } from './request-body/body-budget.ts';
import type { BodyThreads } from './request-body/body-threads.ts';
import type { IntakeTurns } from './request-body/intake-turns.ts';
import type { RequestCounts } from './request-counts.ts';
import type { UpstreamDirectory } from './upstream/upstream-directory.ts';

/** What the routes work with. Built in assemble-gateway.ts. */
export interface GatewayParts {
  readonly clock: () => number;
  readonly logger: Logger;
  readonly projections: Projections;
  readonly holds: Holds;
  /** Where several proxies share the log; null where this one has all credit to itself. */
  readonly fleet: CreditFleet | null;
  /** Why this proxy's claim on its name does not let it admit what costs anything; null where it does, or needs none. */
  readonly claimDoubt: () => string | null;
  readonly rateLimits: RateLimits;
  /** What becomes of values of `anthropic-beta` that the catalog does not let pass. */
  readonly unknownBetas: Configuration['unknownBetas'];
  readonly browserOrigins: Configuration['browserOrigins'];
  readonly upstreams: UpstreamDirectory;
  readonly forwarding: ForwardingParts;
  readonly inFlight: InFlight;
  readonly availability: Availability;
  readonly counts: RequestCounts;
  /** How many connections there may be, and whose word is taken for where one comes from. */
  readonly connections: ConnectionBounds;
  readonly trustedProxies: TrustedProxies;
  readonly loopDelay: LoopDelay;
  readonly bodies: BodyBudget;
  /** When the next chunk of a long one may come. */
  readonly intake: IntakeTurns;
  /** What reads long ones. */
  readonly threads: BodyThreads;
}
