import type { CatalogModel } from '../../contracts/catalog.ts';
import type { Refusal } from '../../contracts/errors.ts';
import type { Terms } from '../admission/terms.ts';
import type { AccountedRequest } from '../request-accounting.ts';
import type { Deployment } from '../upstream/upstream-directory.ts';
import type { InputWeight } from './input-weight.ts';

/** An admitted request on its way upstream: what the relay needs to know of it. */
export interface RelayedRequest {
  readonly accounted: AccountedRequest;
  readonly model: CatalogModel;
  /** The window and the prices that it was held by, and the betas that go upstream. */
  readonly terms: Terms;
  /** The client's bytes. */
  readonly body: Buffer;
  readonly maxTokens: number;
  readonly isStream: boolean;
  /** Asked for by body or header. */
  readonly asksForFast: boolean;
  /** Asked for, and the model has it. */
  readonly mayRunFast: boolean;
  /** Whether the body itself has a `speed`. */
  readonly bodyHasSpeed: boolean;
  /** The body names the model so. */
  readonly modelInBody: string;
  /** What its provider counted for its input before it was admitted; null where it was not asked. */
  readonly inputTokensCounted: number | null;
  /** What its text was worth when it was admitted; null where that is weighed when it is asked for. */
  readonly inputWeight: InputWeight | null;
  readonly version: string | null;
  readonly deprecation: string | null;
  /** Where the model runs, in the order in which to try. At least one. */
  readonly deployments: readonly Deployment[];
  /** Why its caller may call nothing now, as the views say; null where the caller may. Asked before each further call. */
  readonly refuseByStanding: () => Refusal | null;
}
