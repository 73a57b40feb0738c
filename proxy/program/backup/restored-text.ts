import { counted, groupedCount } from '../../../contracts/money.ts';
import type { BackupManifest } from '../../../ledger/backup/manifest.ts';
import type { LedgerComparison } from '../../../ledger/identity/compare-ledger.ts';
import { describeLost } from '../../../ledger/identity/ledger-lost.ts';
import type { SealVerdict } from '../../../ledger/seals/verify-seals.ts';
import type { Refilled } from './restore-parts.ts';

export interface Restored {
  readonly data: string;
  readonly manifest: BackupManifest;
  /** Null where an earlier run had made all of it: this one has moved it to its place. */
  readonly refilled: Refilled | null;
  readonly comparison: LedgerComparison;
  /** Whether it is as its seals say; null where a server has it. */
  readonly sealed: SealVerdict | null;
}

/** What is elsewhere has not been compared with what is known of it, either. */
const isServed = ({ type }: LedgerComparison): boolean => type === 'whole' || type === 'later generation';

export const restoredJson = ({ data, manifest, refilled, comparison, sealed }: Restored): unknown => ({
  data,
  backedUpAt: manifest.begunAt,
  ledger: manifest.ledger,
  requests: manifest.requests,
  refilled,
  lost: comparison.type === 'lost' ? comparison.lost.map(describeLost) : [],
  isServed: isServed(comparison),
  seals: sealed && { verdict: sealed.verdict, seals: sealed.seals, sealed: sealed.sealed, events: sealed.events },
  keys: manifest.keys,
});

/** @param serve what starts a gateway on it, to be typed */
export function restoredText({ data, manifest, refilled, comparison, sealed }: Restored, serve: string): string {
  const { ledger, begunAt, requests, keys } = manifest;
  const { ledgerId, generation, head } = ledger;
  const upTo =
    head === null ? 'without an event' : `up to ${head.stream} revision ${head.revision}, position ${head.position}`;
  return [
    `${data}: the ledger ${ledgerId ?? 'without an identity'}, generation ${generation}, as of ${begunAt}`,
    `of the backup: ${upTo}; requests in its journal: ${groupedCount(requests)}`,
    ...(refilled === null ? ['an earlier run had made all of it: nothing was read again'] : refilledLines(refilled)),
    ...(sealed === null ? [] : [sealsLine(sealed)]),
    ...keys.map(({ use, name }) => `to be put back by hand: ${name} (${use})`),
    ...(isServed(comparison)
      ? [`it has all that is known of it; whether anything else came after ${begunAt} is known to nobody who was asked`]
      : []),
    '',
    next(comparison, serve),
  ].join('\n');
}

function next(comparison: LedgerComparison, serve: string): string {
  if (comparison.type === 'elsewhere') return comparison.error.message;
  if (!isServed(comparison)) return 'next: what is missing, as below';
  return `next: ${serve}, which makes the views anew and settles the journal`;
}

function refilledLines({ fromCopies, fromTopic, requests }: Refilled): string[] {
  return [
    ...(fromCopies === null ? [] : [`events put back from other copies: ${groupedCount(fromCopies)}`]),
    ...(fromTopic === null ? [] : [`events put back from the topic: ${groupedCount(fromTopic.events)}`]),
    ...(fromTopic?.gap == null
      ? []
      : [
          `the topic lacks ${fromTopic.gap.stream} from revision ${fromTopic.gap.end + 1} to ${fromTopic.gap.revision - 1}: what it has behind that cannot be put back`,
        ]),
    ...(fromTopic === null || fromTopic.events === 0
      ? []
      : [
          'seals and claims that came after the backup are in no topic, and what was put back may stand at other positions: name a',
          'new topic in kafka.topic (`gateway relay fill` makes one), and keep the seals that were copied elsewhere',
        ]),
    ...(requests === null
      ? []
      : [`requests put back from journals, to be settled when the gateway starts: ${groupedCount(requests)}`]),
  ];
}

const sealsLine = ({ verdict, sealed, events }: SealVerdict): string =>
  verdict === 'nothing is sealed'
    ? 'nothing of it is sealed'
    : `its seals say: ${verdict}; sealed: ${groupedCount(sealed)} of ${counted(events, 'event')}, without the seals' own`;
