import { LedgerLostError } from '../ledger/identity/ledger-lost.ts';
import type { GatewayProcess } from './assemble-gateway.ts';

type StartedParts = Pick<
  GatewayProcess,
  'ledgerWatch' | 'projections' | 'clock' | 'claim' | 'recovered' | 'availability' | 'fleet'
>;

/** A step of the start that was done in vain; its cause says why. */
export class StartError extends Error {
  override readonly name = 'StartError';
  /** What could not be done, without the why, which is for operators alone. */
  readonly what: string;

  constructor(what: string, cause: unknown) {
    super(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.what = what;
  }
}

/**
 * The start, one step after another, each however long the log is away; what an earlier run left is settled before any
 * new request is admitted. @throws StartError; LedgerLostError
 */
export async function becomeReady(parts: StartedParts): Promise<void> {
  const { ledgerWatch, projections, clock, claim, recovered } = parts;
  await step('the ledger cannot be compared with what this data folder knows of it', ledgerWatch.whenWhole);
  await step('the views cannot catch up with the ledger', projections.whenCaughtUp());
  await step('the clock cannot be compared with the ledger', clock.compare());
  await step('the name of this proxy cannot be claimed', claim?.take());
  await step('the requests of the last run cannot be settled', recovered.settle());
  parts.availability.serve();
  parts.fleet?.upkeep.start();
}

async function step(what: string, done: Promise<unknown> | undefined): Promise<void> {
  try {
    await done;
  } catch (error) {
    // Says itself what is missing, and ends the process in a way of its own.
    throw error instanceof LedgerLostError ? error : new StartError(what, error);
  }
}
