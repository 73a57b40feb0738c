import { createHash, type Hash } from 'node:crypto';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { EventData } from '../../contracts/events.ts';
import { Comparison, type ComparisonTerms } from './comparison.ts';
import { OurUsages } from './our-usage.ts';
import { readReport } from './read-report.ts';
import { REPORT_CLASSES, type ReportClass } from './report-columns.ts';
import { ReportError } from './report-error.ts';
import { type ReportRow, ReportRows } from './report-rows.ts';

type Reconciled = EventData<'ProviderReconciled'>;
const DAY_MS = 86_400_000;

interface ReconcileOptions {
  readonly provider: string;
  /** What is compared; where it is not said, the days of the report. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** Columns of the report that do not matter. */
  readonly ignored: readonly string[];
}

/** Compares a provider's report with what the log says that we have used of it. @throws ReportError; UnreadableEventError */
export async function reconcile(
  report: AsyncIterable<Buffer>,
  events: AsyncIterable<RecordedEvent>,
  { provider, fromMs, toMs, ignored }: ReconcileOptions,
): Promise<Reconciled> {
  const hash = createHash('sha256');
  const columns = new ReportRows(ignored);
  const all: ReportRow[] = [];
  for await (const raw of readReport(hashed(report, hash))) all.push(columns.read(raw));
  columns.assertKnown();
  const rows = all.filter(
    ({ tokens, cost, tokenClass }) =>
      tokens.size > 0 || (cost !== null && (tokenClass !== null || !columns.has('tokenClass'))),
  );
  const terms = termsOf(rows, columns, { fromMs, toMs });
  const comparison = new Comparison(terms);
  const inside = rows.filter(({ atMs }) => atMs === null || (atMs >= terms.fromMs && atMs < terms.toMs));
  for (const row of inside) comparison.addTheirs(row);
  const ours = new OurUsages(provider, (used) => comparison.addOurs(used));
  for await (const recorded of events) ours.add(recorded);
  ours.end();
  return {
    provider,
    report: {
      sha256: hash.digest('hex'),
      rows: all.length,
      outside: rows.length - inside.length,
      withoutTokens: all.length - rows.length,
    },
    by: terms.by,
    from: new Date(terms.fromMs).toISOString(),
    to: new Date(terms.toMs).toISOString(),
    classes: [...terms.classes],
    ...comparison.result(),
  };
}

async function* hashed(bytes: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
}

function termsOf(
  rows: readonly ReportRow[],
  columns: ReportRows,
  asked: Pick<ReconcileOptions, 'fromMs' | 'toMs'>,
): ComparisonTerms {
  const isByRequest = columns.has('requestId');
  if (rows.length === 0) throw new ReportError('no row of it is about tokens or what they cost');
  if (isByRequest && rows.some(({ requestId }) => requestId === null))
    throw new ReportError('some of its rows name a request, and some do not');
  if (!isByRequest && rows.some(({ atMs }) => atMs === null))
    throw new ReportError('its rows name neither a request nor a day (columns request_id, date)');
  if (rows.some(({ atMs, endMs }) => atMs !== null && endMs !== null && endMs - atMs > DAY_MS))
    throw new ReportError('some of its rows are of more than a day: ask for buckets of a day at most');
  if (!isByRequest && rows.some(({ model }) => model === null) && columns.has('model'))
    throw new ReportError('some of its rows name a model, and some do not');
  const classes = REPORT_CLASSES.filter((name) => rows.some(({ tokens }) => tokens.has(name)));
  const costed = rows.flatMap(({ tokenClass, cost }) => (tokenClass !== null && cost !== null ? [tokenClass] : []));
  return {
    by: isByRequest ? 'request' : 'day',
    ...timeOf(rows, asked),
    classes: new Set(classes),
    shown: new Set<ReportClass>([...classes, ...costed]),
    hasTier: columns.has('tier') || columns.has('batch'),
    hasModel: columns.has('model'),
  };
}

/** Whole days (UTC) of the report, unless somebody said otherwise. */
function timeOf(
  rows: readonly ReportRow[],
  { fromMs, toMs }: Pick<ReconcileOptions, 'fromMs' | 'toMs'>,
): Pick<ComparisonTerms, 'fromMs' | 'toMs'> {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { atMs } of rows) {
    if (atMs === null) continue;
    first = Math.min(first, atMs);
    last = Math.max(last, atMs);
  }
  const time = {
    fromMs: fromMs ?? Math.floor(first / DAY_MS) * DAY_MS,
    toMs: toMs ?? (Math.floor(last / DAY_MS) + 1) * DAY_MS,
  };
  if (!Number.isFinite(time.fromMs) || !Number.isFinite(time.toMs))
    throw new ReportError('its rows have no times: say what it covers with --from and --to');
  if (time.fromMs >= time.toMs) throw new ReportError('the time that is compared ends before it begins');
  return time;
}
