import { LIMITS } from '../../../contracts/limits.ts';
import { giveBackMemory } from '../../../ledger/give-back-memory.ts';
import { LedgerLostError } from '../../../ledger/identity/ledger-lost.ts';
import { within } from '../../../ledger/within.ts';
import { UnusableError } from '../unusable-error.ts';
import type { GatewayProcess } from './assemble-gateway.ts';

type StartedParts = Pick<
  GatewayProcess,
  | 'options'
  | 'ledgerWatch'
  | 'projections'
  | 'hiddenAside'
  | 'clock'
  | 'claim'
  | 'recovered'
  | 'availability'
  | 'fleet'
  | 'unserved'
  | 'unservedProduct'
  | 'formsAdoption'
  | 'sealer'
  | 'renewal'
  | 'closer'
>;

const GIVE_BACK_HEAP_BYTES_MAX = 64 * 1024 * 1024;

/** What anybody else may find out, too, and then says in the same words. */
export const CANNOT = Object.freeze({
  compareLedger: 'the ledger cannot be compared with what this data folder knows of it',
  followLedger: 'the views cannot follow the ledger',
  useLog: 'the event log cannot be used any more',
  endClaimDoubt: 'what an older process of this name has settled cannot be read',
  writeJournal: 'the journal of usage cannot be written',
});

/**
 * The start, one step after another, each however long the log is away; what an earlier run left is settled before any
 * new request is admitted. @throws UnusableError; LedgerLostError
 */
export async function becomeReady(parts: StartedParts): Promise<void> {
  const { options, ledgerWatch, projections, clock, claim, recovered } = parts;
  await step(CANNOT.compareLedger, ledgerWatch.whenWhole);
  await step(CANNOT.followLedger, projections.whenCaughtUp());
  await step('the streams of accounts cannot be looked at', within(LIMITS.hiddenLookMs, parts.hiddenAside));
  await step('the clock cannot be compared with the ledger', clock.compare(options.log));
  await step('the name of this proxy cannot be claimed', claim?.take());
  await step('the requests of the last run cannot be settled', recovered.settle());
  if (!parts.availability.isServing) giveBackMemory(GIVE_BACK_HEAP_BYTES_MAX);
  parts.availability.serve();
  parts.unserved.tell();
  parts.unservedProduct.tell();
  parts.fleet?.upkeep.start();
  parts.formsAdoption.start();
  parts.sealer?.start();
  parts.renewal?.start();
  parts.closer.start();
}

async function step(what: string, done: Promise<unknown> | undefined): Promise<void> {
  try {
    await done;
  } catch (error) {
    // Says itself what is missing, and ends the process in a way of its own.
    throw error instanceof LedgerLostError ? error : new UnusableError(what, error);
  }
}
