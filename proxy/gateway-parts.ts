import type { Configuration } from '../contracts/configuration.ts';
import type { AdmissionParts } from './admission/admission-parts.ts';
import type { ConnectionBounds } from './connections/bound-connections.ts';
import type { TrustedProxies } from './connections/trusted-proxies.ts';
import type { ForwardingParts } from './forwarding/forwarding-parts.ts';
import type { LoopDelay } from './loop-delay.ts';
import type { RequestObserver } from './observation/request-observer.ts';
import type { BodyBudget } from './request-body/body-budget.ts';
import type { IntakeTurns } from './request-body/intake-turns.ts';
import type { UnknownKeys } from './unknown-keys.ts';

/** What the routes work with. Built in assemble-gateway.ts. */
export interface GatewayParts extends AdmissionParts {
  /** Whose accounts' keys are known here. */
  readonly product: Configuration['product'];
  readonly browserOrigins: Configuration['browserOrigins'];
  readonly forwarding: ForwardingParts;
  /** How many connections there may be, and whose word is taken for where one comes from. */
  readonly connections: ConnectionBounds;
  readonly trustedProxies: TrustedProxies;
  readonly loopDelay: LoopDelay;
  readonly unknownKeys: UnknownKeys;
  readonly bodies: BodyBudget;
  /** When the next chunk of a long one may come. */
  readonly intake: IntakeTurns;
  /** Told of every request's end. */
  readonly observer: RequestObserver;
}
