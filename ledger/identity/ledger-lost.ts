import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { namedInConfiguration } from '../ledger-file.ts';
import type { LostEvents, LostRange } from './find-lost.ts';
import { IDENTITY_LIMITS } from './limits.ts';

/** A ledger that must not be served from: it is another, or lacks what is known of it. The message is all an operator needs. */
export class LedgerLostError extends Error {
  override readonly name = 'LedgerLostError';
  /** What is wrong, in a few words for those who are refused meanwhile. */
  readonly what: string;

  constructor(message: string, what = 'the ledger lacks events that this gateway has seen') {
    super(message);
    this.what = what;
  }
}

/** It is at another place, or not at this one yet: nothing is lost. The message says where to go on. */
export class LedgerElsewhereError extends LedgerLostError {}

/** The command that gives up what is lost, by its words; a command line that says it adds what it was given. */
export const ACCEPT_LOSS = ['gateway', 'ledger', 'accept-loss', '--reason', '"…"'];

const HOW =
  'Put back the ledger that has it; or, if it is lost for good, stop the gateway of this data folder, and give it up with\n' +
  `  ${ACCEPT_LOSS.join(' ')}`;

/** @param where the ledger, as an operator knows it: its file, or the event store */
export function ledgerLost(where: string, { lost, untold }: LostEvents): LedgerLostError {
  const named = lost.slice(0, IDENTITY_LIMITS.namedInMessage).map((range) => `  ${describeLost(range)}`);
  const more = lost.length - named.length;
  return new LedgerLostError(
    [
      `the ledger (${where}) lacks events that it had; nothing is served from it:`,
      ...named,
      ...(more > 0 ? [`  and ${more} more streams`] : []),
      ...(untold > 0 ? [`  of ${untold} other streams it cannot be told whether they have lost events, too`] : []),
      HOW,
    ].join('\n'),
  );
}

/** What of one stream is lost, and what of it is left, as far as that is known. */
export function describeLost(range: LostRange): string {
  const { stream, revision, end, isReplaced, knownBy } = range;
  const who = `${knownBy.join(' and ')} ${knownBy.length === 1 ? 'knows' : 'know'}`;
  if (end < 0) return `${stream}: ${who} revision ${revision}, nothing of it is there`;
  const lost = isReplaced
    ? `revision ${revision} is not the event that ${who}`
    : `${who} revision ${revision}, the ledger ends at revision ${end}`;
  return `${stream}: ${lost}; ${describeShared(range)}`;
}

/** A ledger that went on after it had been put back has events that were never there before. */
function describeShared({ sharedAtLeast: least, sharedAtMost: most }: LostRange): string {
  if (most < 0) return 'none of it is what was there';
  if (least === most) return `it is what was there up to revision ${most}`;
  const certain = least < 0 ? 'which revisions cannot be told' : `for certain up to revision ${least}`;
  return `it is what was there up to revision ${most} at the most, ${certain}`;
}

export const otherLedger = (where: string, source: string, known: LedgerIdentity, is: LedgerIdentity) =>
  new LedgerLostError(
    `${source} belongs to the ledger ${known.ledgerId}, and the ledger (${where}) is ${is.ledgerId}: it is another one.\n` +
      'Start with the data folder and the ledger that belong together, or with a new data folder.',
  );

export const olderGeneration = (where: string, source: string, known: LedgerIdentity, is: LedgerIdentity) =>
  new LedgerLostError(
    `${source} knows generation ${known.generation} of the ledger (${where}), which is at generation ${is.generation}:\n` +
      `it was put back to before a loss was accepted.\n${HOW}`,
  );

/** The file itself is gone, and the data folder knows that there was one. */
/** @param known which one the folder says it was; null where a gateway's journal is all that says that there was one */
export function missingLedger(file: string, known: LedgerIdentity | null): LedgerLostError {
  const why =
    known === null
      ? 'a gateway has run on this data folder'
      : `this data folder belongs to the ledger ${known.ledgerId}`;
  return new LedgerLostError(`${file} is missing: ${why}.\n${HOW}`);
}

/** @param what which file was replaced */
export const replacedLedger = (what: string) =>
  new LedgerLostError(
    `${what}; nothing more is read from it or written to it.\n` +
      'What was not in the ledger yet stands in the journal of its gateway. Start it again:\n' +
      'it compares the ledger that is there now with what it knows, and serves from it or says what is missing.',
    'the ledger was replaced while it was open',
  );

export const unidentified = (where: string, source: string, known: LedgerIdentity) =>
  new LedgerLostError(
    `${source} belongs to the ledger ${known.ledgerId}, and the ledger (${where}) has no identity: it is empty, or older than that.\n${HOW}`,
  );

/** @param where the place that it has left */
export const movedLedger = (where: string, { to, movedAt }: { readonly to: string; readonly movedAt: string }) =>
  new LedgerElsewhereError(
    `the ledger (${where}) has moved to ${to} at ${movedAt}: nothing more is written here, and nothing is served from here.\n` +
      `Name ${namedInConfiguration(to)}, and start again; where it is said there that the ledger is not whole yet,\n` +
      'run the same `gateway ledger copy` again first.',
    'the ledger has moved',
  );

/** @param where the target of a copy */
export const beingCopied = (where: string) =>
  new LedgerElsewhereError(
    `a ledger is being copied to this place (${where}), and is not whole here yet: nothing is served from it.\n` +
      '`gateway ledger copy`, run again where the ledger is, goes on with it.',
    'the ledger is being copied to this place',
  );

export const laterGeneration = (where: string, is: LedgerIdentity) =>
  new LedgerLostError(
    `a loss of the ledger (${where}) was accepted: its generation ${is.generation} has begun, and the views of this gateway are of an earlier one.\n` +
      'Start the gateway again: it begins on the new generation.',
  );
