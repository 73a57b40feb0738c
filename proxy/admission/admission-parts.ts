import type { Logger } from 'pino';
import type { Configuration } from '../../contracts/configuration.ts';
import type { Projections } from '../../projections/projections.ts';
import type { Availability } from '../availability.ts';
import type { Holds } from '../holds.ts';
import type { InFlight } from '../in-flight.ts';
import type { RateLimits } from '../rate-limits/rate-limits.ts';
import type { RequestAccounting } from '../request-accounting.ts';
import type { BodyThreads } from '../request-body/body-threads.ts';
import type { RequestCounts } from '../request-counts.ts';
import type { UpstreamDirectory } from '../upstream/upstream-directory.ts';
import type { CreditFleet } from './credit-fleet.ts';
import type { ReloadWaits } from './reload-waits.ts';

/** What the admission of requests works with. */
export interface AdmissionParts {
  readonly clock: () => number;
  readonly logger: Logger;
  readonly projections: Projections;
  readonly holds: Holds;
  readonly accounting: RequestAccounting;
  /** Where several proxies share the log; null where this one has all credit to itself. */
  readonly fleet: CreditFleet | null;
  /** Those for which there are no credits, while some are being bought. */
  readonly reloadWaits: ReloadWaits;
  /** Why this proxy's claim on its name does not let it admit what costs anything; null where it does, or needs none. */
  readonly claimDoubt: () => string | null;
  readonly rateLimits: RateLimits;
  /** What becomes of values of `anthropic-beta` that the catalog does not let pass. */
  readonly unknownBetas: Configuration['unknownBetas'];
  readonly upstreams: UpstreamDirectory;
  readonly inFlight: InFlight;
  readonly availability: Availability;
  readonly counts: RequestCounts;
  /** What reads long bodies. */
  readonly threads: BodyThreads;
}
