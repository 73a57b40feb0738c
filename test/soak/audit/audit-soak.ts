import { join } from 'node:path';
import type { AccountBooks } from '../../crash/audit/account-books.ts';
import { accountBooks } from '../../crash/audit/account-books.ts';
import { auditLimitsSet } from '../../crash/audit/audit-limits-set.ts';
import { auditRequests } from '../../crash/audit/audit-requests.ts';
import { auditViewRows } from '../../crash/audit/audit-views.ts';
import { type BilledCounts, countBilled } from '../../crash/audit/count-billed.ts';
import { readUpstreamRecord } from '../../crash/audit/upstream-record.ts';
import type { LimitSet } from '../../crash/move-limit.ts';
import type { SentRequest } from '../../crash/post-planned.ts';
import { viewRows } from '../../crash/view-rows.ts';
import { isPublished, type LoggedStream } from '../logged-stream.ts';
import { MOVED_ACCOUNT, SOAK_ACCOUNTS } from '../soak-accounts.ts';
import type { SoakFleet } from '../soak-fleet.ts';
import type { TopicMessage } from '../topic-record.ts';
import { auditLimits } from './audit-limits.ts';
import { auditTopic, type TopicAudit } from './audit-topic.ts';

interface SoakEvidence {
  readonly fleet: SoakFleet;
  /** What the event store holds. */
  readonly logged: readonly LoggedStream[];
  readonly sent: readonly SentRequest[];
  readonly killsMs: readonly number[];
  readonly messages: readonly TopicMessage[];
  /** Limits that operators have set while the run lasted. */
  readonly limits: readonly LimitSet[];
  /** Whether a refusal that the run did not have to expect was earned by its key all the same. */
  readonly mayRefuse: (request: SentRequest) => boolean;
}

export interface SoakAudit {
  readonly faults: readonly string[];
  readonly books: readonly AccountBooks[];
  readonly seen: number;
  /** How often what the upstream saw was recorded. */
  readonly billed: BilledCounts;
  readonly topic: TopicAudit;
  /** Requests that went to a machine that is gone, and whose record went with its journal. */
  readonly gone: number;
  readonly leases: number;
  readonly events: number;
}

/** Compares ledger, upstream's record, clients' word, every proxy's views and the topic. Every process has stopped. */
export function auditSoak({ fleet, logged, sent, killsMs, messages, limits, mayRefuse }: SoakEvidence): SoakAudit {
  const streams = logged.filter(isPublished);
  const { prices } = fleet.catalog;
  const eventsOf = (id: string) => streams.find(({ stream }) => stream === `account-${id}`)?.events ?? [];
  const books = SOAK_ACCOUNTS.map(({ id }) => accountBooks(id, eventsOf(id), prices));
  const usages = books.flatMap((own) => own.usages);
  const debits = books.flatMap((own) => own.debits);
  const late = books.flatMap((own) => own.late);
  const seen = readUpstreamRecord(fleet.recordPath);
  const lostUrls = new Set(fleet.proxies.flatMap(({ isLost, urls }) => (isLost ? [...urls] : [])));
  let gone = 0;
  const mayBeUnrecorded = ({ url }: SentRequest): boolean => {
    if (!lostUrls.has(url)) return false;
    gone++;
    return true;
  };
  const topic = auditTopic(messages, streams);
  const faults = [
    ...books.flatMap((own) => own.faults.map((fault) => `${own.accountId}: ${fault}`)),
    ...books.flatMap(auditLimits),
    ...auditLimitsSet(eventsOf(MOVED_ACCOUNT), limits).map((fault) => `${MOVED_ACCOUNT}: ${fault}`),
    ...auditRequests({ sent, seen, usages, debits, late, prices, killsMs, mayBeUnrecorded, mayRefuse }),
    ...topic.faults,
    ...auditViews(fleet, books),
  ];
  const events = streams.flatMap((one) => one.events);
  const leases = events.filter(({ type }) => type === 'CreditsLeased').length;
  const billed = countBilled({ sent, seen, usages, debits });
  return { faults, books, seen: seen.length, billed, topic, gone, leases, events: events.length };
}

/** The views of every proxy are those of the auditor's books, and the same as everybody's. */
function auditViews(fleet: SoakFleet, books: readonly AccountBooks[]): string[] {
  const faults: string[] = [];
  let first: { readonly name: string; readonly rows: ReadonlySet<string> } | null = null;
  for (const { process, data } of fleet.kept) {
    const { name } = process;
    faults.push(...auditViewRows(join(data, 'views.db'), books).map((fault) => `${name}: ${fault}`));
    const rows = new Set(viewRows(data, { remove: false }));
    if (first === null) {
      first = { name, rows };
      continue;
    }
    for (const row of rows.difference(first.rows))
      faults.push(`only in the views of ${name}, not of ${first.name}: ${row}`);
    for (const row of first.rows.difference(rows))
      faults.push(`only in the views of ${first.name}, not of ${name}: ${row}`);
  }
  return faults;
}
