import { createHash, type Hash } from 'node:crypto';
import { decodeEvent } from '../../contracts/event-codec.ts';
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
/** Others have no four digits, or end in one that has not. */
const YEARS = { firstMs: Date.parse('0001-01-01'), lastMs: Date.parse('9999-01-01') };

interface ReconcileOptions {
  readonly provider: string;
  /** Providers that are known beside those of the log's catalogs and usage. */
  readonly known: readonly string[];
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
  { provider, known, fromMs, toMs, ignored }: ReconcileOptions,
): Promise<Reconciled> {
  const hash = createHash('sha256');
  const columns = new ReportRows(ignored);
  const seen = new SeenRows();
  const comparison = new Comparison();
  for await (const raw of readReport(hashed(report, hash))) {
    const row = columns.read(raw);
    seen.add(row);
    const isInside = row.atMs === null || (row.atMs >= (fromMs ?? row.atMs) && (toMs === null || row.atMs < toMs));
    if (!row.isOfTokens) continue;
    if (isInside) comparison.addTheirs(row);
    else seen.outside += 1;
  }
  columns.assertKnown();
  const terms = seen.terms(columns, { fromMs, toMs });
  comparison.begin(terms);
  const ours = new OurUsages(provider, (used) => comparison.addOurs(used));
  const providers = new Set(known);
  for await (const recorded of events) {
    if (recorded.type === 'CatalogPublished') addProviders(providers, recorded);
    ours.add(recorded);
  }
  ours.end();
  if (!providers.union(ours.providers).has(provider))
    throw new ReportError(
      `there is no provider ${provider} in the configuration, in any catalog or in what was used; known are ` +
        [...providers.union(ours.providers)].sort().join(', '),
    );
  const { rows, outside, withoutTokens } = seen;
  return {
    provider,
    report: { sha256: hash.digest('hex'), rows, outside, withoutTokens },
    by: terms.by,
    from: new Date(terms.fromMs).toISOString(),
    to: new Date(terms.toMs).toISOString(),
    classes: [...terms.classes],
    ...comparison.result(),
  };
}

function addProviders(providers: Set<string>, recorded: RecordedEvent): void {
  const event = decodeEvent(recorded);
  if (event.type === 'CatalogPublished')
    for (const { upstreams } of event.data.models) for (const { provider } of upstreams) providers.add(provider);
}

async function* hashed(bytes: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
}

/** What the rows of a report have in common, and whether they can be compared together. */
class SeenRows {
  rows = 0;
  outside = 0;
  withoutTokens = 0;
  readonly #told = new Set<ReportClass>();
  readonly #costed = new Set<ReportClass>();
  /** Of those about tokens. */
  readonly #lacking = { requestId: 0, atMs: 0, model: 0 };
  #firstMs = Number.POSITIVE_INFINITY;
  #lastMs = Number.NEGATIVE_INFINITY;
  #hasLong = false;

  add(row: ReportRow): void {
    this.rows += 1;
    if (!row.isOfTokens) {
      this.withoutTokens += 1;
      return;
    }
    const { atMs, endMs, tokenClass, cost } = row;
    for (const field of ['requestId', 'atMs', 'model'] as const) if (row[field] === null) this.#lacking[field] += 1;
    for (const name of row.tokens.keys()) this.#told.add(name);
    if (tokenClass !== null && cost !== null) this.#costed.add(tokenClass);
    if (atMs === null) return;
    this.#firstMs = Math.min(this.#firstMs, atMs);
    this.#lastMs = Math.max(this.#lastMs, atMs);
    this.#hasLong ||= endMs !== null && endMs - atMs > DAY_MS;
  }

  /** @throws ReportError */
  terms(columns: ReportRows, asked: Pick<ReconcileOptions, 'fromMs' | 'toMs'>): ComparisonTerms {
    const count = this.rows - this.withoutTokens;
    const { requestId, atMs, model } = this.#lacking;
    const isByRequest = requestId < count;
    if (count === 0) throw new ReportError('no row of it is about tokens or what they cost');
    if (isByRequest && requestId > 0) throw new ReportError('some of its rows name a request, and some do not');
    if (!isByRequest && atMs > 0)
      throw new ReportError('its rows name neither a request nor a day (columns request_id, date)');
    if (this.#hasLong)
      throw new ReportError('some of its rows are of more than a day: ask for buckets of a day at most');
    if (!isByRequest && model > 0 && model < count)
      throw new ReportError('some of its rows name a model, and some do not');
    return {
      by: isByRequest ? 'request' : 'day',
      ...this.#timeOf(asked),
      ...this.#classes(),
      hasTier: columns.has('tier'),
      hasModel: model < count,
    };
  }

  /** Where any row has cache writes without saying for how long they are, those of all rows are one class. */
  #classes(): Pick<ComparisonTerms, 'classes' | 'shown'> {
    const shown = this.#told.union(this.#costed);
    const asOne = (name: ReportClass): ReportClass =>
      shown.has('cacheWrite') && name.startsWith('cacheWrite') ? 'cacheWrite' : name;
    return { classes: inOrder(new Set([...this.#told].map(asOne))), shown: inOrder(new Set([...shown].map(asOne))) };
  }

  /** Whole days (UTC) of the report, unless somebody said otherwise. */
  #timeOf(asked: Pick<ReconcileOptions, 'fromMs' | 'toMs'>): Pick<ComparisonTerms, 'fromMs' | 'toMs'> {
    const fromMs = asked.fromMs ?? Math.floor(this.#firstMs / DAY_MS) * DAY_MS;
    const toMs = asked.toMs ?? (Math.floor(this.#lastMs / DAY_MS) + 1) * DAY_MS;
    if (!Number.isFinite(fromMs) || !Number.isFinite(toMs))
      throw new ReportError('its rows have no times: say what it covers with --from and --to');
    if (fromMs < YEARS.firstMs || toMs > YEARS.lastMs)
      throw new ReportError('it reaches beyond the years 0001 to 9998: say what is compared with --from and --to');
    if (fromMs >= toMs) throw new ReportError('the time that is compared ends before it begins');
    return { fromMs, toMs };
  }
}

const inOrder = (classes: ReadonlySet<ReportClass>): ReadonlySet<ReportClass> =>
  new Set(REPORT_CLASSES.filter((name) => classes.has(name)));
