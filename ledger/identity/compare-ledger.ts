import type { EventLog } from '../../contracts/event-log.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { pause } from '../pause.ts';
import { findLost, type LostEvents } from './find-lost.ts';
import type { LedgerKnowledge } from './known-ledger.ts';
import {
  beingCopied,
  type LedgerLostError,
  ledgerLost,
  movedLedger,
  olderGeneration,
  otherLedger,
  unidentified,
} from './ledger-lost.ts';
import { type LedgerState, readLedgerState } from './ledger-state.ts';
import { IDENTITY_LIMITS } from './limits.ts';

/**
 * Whether a ledger has everything that is known of it. It is asked several times where something is missing,
 * because a node that lags behind its leader has lost nothing. @throws EventLogError when the log does not answer
 */
export async function compareLedger(
  known: readonly LedgerKnowledge[],
  options: CompareOptions,
): Promise<LedgerComparison> {
  for (let look = 1; ; look++) {
    const comparison = await lookOnce(known, options);
    if (comparison.type !== 'lost' || look >= (options.looks ?? IDENTITY_LIMITS.looks)) return comparison;
    options.onMissing?.();
    await pause(IDENTITY_LIMITS.lookPauseMs);
  }
}

/** How a ledger compares with what is known of it: by a data folder, by a topic. */
export type LedgerComparison =
  /** Everything known is there. */
  | { readonly type: 'whole'; readonly state: LedgerState }
  /** A loss was accepted since: the folder goes over to the new generation. */
  | { readonly type: 'later generation'; readonly state: LedgerState; readonly identity: LedgerIdentity }
  /** Not everything is there. `lost` can be empty where the ledger's identity tells. */
  | (LostEvents & { readonly type: 'lost'; readonly state: LedgerState; readonly error: LedgerLostError })
  | { readonly type: 'other ledger'; readonly error: LedgerLostError }
  /** Its place is another one, or this one later: nothing is written here, nor served from here. */
  | { readonly type: 'elsewhere'; readonly error: LedgerLostError };

export interface CompareOptions {
  readonly log: EventLog;
  /** The ledger as an operator knows it: its file, or the event store. */
  readonly where: string;
  /** How often something missing is looked for; a file needs one look. */
  readonly looks?: number;
  /** Something is missing, and it is looked for again. */
  readonly onMissing?: () => void;
}

async function lookOnce(all: readonly LedgerKnowledge[], { log, where }: CompareOptions): Promise<LedgerComparison> {
  const state = await readLedgerState(log);
  const is = state.identity;
  const known = all.flatMap(({ source, identity }) => (identity === null ? [] : [{ source, identity }]));
  const elsewhere = whyElsewhere(where, state);
  if (elsewhere !== null) return { type: 'elsewhere', error: elsewhere };
  if (is !== null) {
    const other = known.find(({ identity }) => identity.ledgerId !== is.ledgerId);
    if (other !== undefined)
      return { type: 'other ledger', error: otherLedger(where, other.source, other.identity, is) };
    if (known.some(({ identity }) => identity.generation < is.generation))
      return { type: 'later generation', state, identity: is };
  }
  const found = await findLost(log, all);
  const hasLost = found.lost.length > 0;
  // What was written before there were identities may be of before a loss that was accepted: this tells.
  if (is !== null && is.generation > 1 && known.length === 0 && hasLost)
    return { type: 'later generation', state, identity: is };
  if (hasLost) return { type: 'lost', state, ...found, error: ledgerLost(where, found) };
  for (const { source, identity } of known) {
    if (is === null) return { type: 'lost', state, ...found, error: unidentified(where, source, identity) };
    if (identity.generation > is.generation)
      return { type: 'lost', state, ...found, error: olderGeneration(where, source, identity, is) };
  }
  return { type: 'whole', state };
}

/** Why nothing of a ledger may be written or served where it is looked at; null where it may. */
export const whyElsewhere = (where: string, { isBeingCopied, moved }: LedgerState): LedgerLostError | null =>
  isBeingCopied ? beingCopied(where) : moved === null ? null : movedLedger(where, moved);
