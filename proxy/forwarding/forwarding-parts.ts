import type { Logger } from 'pino';
import type { RequestAccounting } from '../request-accounting.ts';
import type { IntakeTurns } from '../request-body/intake-turns.ts';
import type { Drains } from './drains.ts';

export interface ForwardingParts {
  readonly accounting: RequestAccounting;
  readonly drains: Drains;
  readonly intake: IntakeTurns;
  readonly logger: Logger;
  readonly clock: () => number;
  /** Milliseconds by a clock that nobody sets. */
  readonly monotonic: () => number;
  readonly chargeInterrupted: 'none' | 'reported';
  /** A client that takes no byte for so long has left. */
  readonly clientStallMs: number;
}
