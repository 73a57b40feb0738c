import { decodeEvent } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { EventData, UsageRecorded } from '../../contracts/events.ts';
import { PICO_PER_MICRO } from '../../contracts/money.ts';
import type { Entry } from '../postings/bookkeeper.ts';
import { BREAKAGE, PREMIUM, USAGE_OWED, USAGE_PAID } from '../postings/chart-of-accounts.ts';
import type { BooksForm } from './book-entries.ts';
import { csvLine } from './csv-line.ts';
import { usdOfMicro, usdOfPico } from './decimal-text.ts';

/**
 * The columns of FOCUS 1.2 (FinOps, cost and usage): all that are mandatory, of the conditional ones those
 * whose condition is met, and two of our own (`x_`).
 */
const COLUMNS = [
  ...['BilledCost', 'BillingAccountId', 'BillingAccountName', 'BillingAccountType', 'BillingCurrency'],
  ...['BillingPeriodEnd', 'BillingPeriodStart', 'ChargeCategory', 'ChargeClass', 'ChargeDescription'],
  ...['ChargeFrequency', 'ChargePeriodEnd', 'ChargePeriodStart', 'ConsumedQuantity', 'ConsumedUnit', 'ContractedCost'],
  ...['ContractedUnitPrice', 'EffectiveCost', 'InvoiceId', 'InvoiceIssuerName', 'ListCost', 'ListUnitPrice'],
  ...['PricingCategory', 'PricingQuantity', 'PricingUnit', 'ProviderName', 'PublisherName', 'ServiceCategory'],
  ...['ServiceName', 'ServiceSubcategory', 'SkuId', 'SkuMeter', 'SkuPriceDetails', 'SkuPriceId', 'SubAccountId'],
  ...['SubAccountName', 'SubAccountType', 'Tags', 'x_EventId', 'x_RequestId'],
];
type FocusRow = Readonly<Record<string, string>>;
type Debit = EventData<'CreditsDebited' | 'ExceptionApproved'>;

const PROVIDER = 'Model gateway';

/**
 * Cost and usage as customers' FinOps tools read it. Credit is prepaid: what was paid for it is the BilledCost of a Purchase;
 * usage is billed 0 and has as EffectiveCost what of the paid credit it took, and what is owed for it. So over an account's
 * life BilledCost is EffectiveCost and the paid credit that is left, less what is owed.
 */
export function focusForm(): BooksForm {
  /** Of each stream the newest usage: its debit follows it. */
  const usages = new Map<string, RecordedEvent>();
  return {
    takesUnbooked: true,
    begin: () => csvLine(COLUMNS),
    see: (recorded) => {
      if (recorded.type === 'UsageRecorded') usages.set(recorded.stream, recorded);
    },
    entry: (entry) => {
      let lines = '';
      for (const row of rowsOf(entry, usages.get(entry.recorded.stream)))
        lines += csvLine(COLUMNS.map((name) => row[name] ?? ''));
      return lines;
    },
    end: () => [],
  };
}

function* rowsOf(entry: Entry, newest: RecordedEvent | undefined): Generator<FocusRow> {
  const { event } = entry;
  const common = commonOf(entry);
  if (event.type === 'CreditsDebited' || event.type === 'ExceptionApproved')
    yield* usageRows(entry, event.data, { ...common, ...timesOf(event.data, newest) });
  if (event.type === 'CreditsGranted' && event.data.costBasis > 0n) yield purchaseRow(event.data, common);
  // What is no usage and takes paid credit all the same, or turns out to be paid by nobody.
  const earned = -sumOf(entry, BREAKAGE) - sumOf(entry, PREMIUM);
  const unpaid = paidByNobody(entry);
  if (earned !== 0n) yield adjustmentRow(earned, 'Paid credit that nothing was used of', common);
  if (unpaid !== 0n) yield adjustmentRow(-unpaid, 'Usage that was owed, paid by credit that was given away', common);
}

/** Of what was owed the part that free credit has filled. */
function paidByNobody(entry: Entry): bigint {
  const { event, customer } = entry;
  if (event.type !== 'CreditsGranted' && event.type !== 'CreditsReinstated') return 0n;
  const filled = -sumOf(entry, `Assets:Receivable:${customer}`);
  if (filled === 0n) return 0n;
  const paidIn =
    event.type === 'CreditsGranted' ? min(event.data.costBasis, event.data.amount) : sumOf(entry, BREAKAGE);
  const paidLeft = -sumOf(entry, `Liabilities:Credits:${customer}:Paid`);
  return filled - (paidIn - paidLeft);
}

function* usageRows(entry: Entry, data: Debit, common: FocusRow): Generator<FocusRow> {
  const effective = -(sumOf(entry, USAGE_PAID) + sumOf(entry, USAGE_OWED)) * PICO_PER_MICRO;
  const base = {
    ...{ ...common, ChargeCategory: 'Usage', ChargeFrequency: 'Usage-Based', PricingCategory: 'Standard' },
    ...{ BilledCost: '0', SkuId: data.model, SubAccountId: data.keyId, SubAccountType: 'API key' },
    ...{ SkuPriceDetails: JSON.stringify({ x_Lane: data.lane }), x_RequestId: data.requestId },
  };
  const [total, lines] = [data.cost, pricedLines(data)];
  let [costBefore, given] = [0n, 0n];
  for (const { meter, quantity, unit, rate, cost } of lines) {
    costBefore += cost;
    // Each line has its part, and all together have the whole.
    const upToHere = total === 0n ? 0n : (effective * costBefore) / total;
    const [price, list] = [usdOfPico(rate), usdOfPico(cost)];
    yield {
      ...{ ...base, EffectiveCost: usdOfPico(upToHere - given), ListCost: list, ContractedCost: list },
      ...{ ListUnitPrice: price, ContractedUnitPrice: price, PricingQuantity: quantity, PricingUnit: unit },
      ...{ ConsumedQuantity: quantity, ConsumedUnit: unit, SkuMeter: meter },
      ...{ SkuPriceId: `${data.model}/${data.lane}/${meter}`, ChargeDescription: `${data.model}: ${meter}` },
    };
    given = upToHere;
  }
}

interface PricedLine {
  readonly meter: string;
  readonly quantity: string;
  readonly unit: string;
  readonly rate: bigint;
  readonly cost: bigint;
}

function pricedLines(data: Debit): PricedLine[] {
  if (!('lines' in data))
    return [{ meter: 'approved exception', quantity: '1', unit: 'Requests', rate: data.cost, cost: data.cost }];
  return [
    ...data.lines.map(({ tokenClass, tokens, rate, cost }) => ({
      ...{ meter: tokenClass, quantity: tokens.toString(), unit: 'Tokens', rate, cost },
    })),
    ...data.uses.map(({ use, count, rate, cost }) => ({
      ...{ meter: use, quantity: count.toString(), unit: 'Uses', rate, cost },
    })),
  ];
}

function purchaseRow({ costBasis, source, grantId }: EventData<'CreditsGranted'>, common: FocusRow): FocusRow {
  const cost = usdOfMicro(costBasis);
  return {
    ...{ ...common, ...ONCE, ChargeCategory: 'Purchase', BilledCost: cost, EffectiveCost: '0', ListCost: cost },
    ...{ ContractedCost: cost, ListUnitPrice: cost, ContractedUnitPrice: cost, PricingQuantity: '1' },
    ...{ PricingUnit: 'Grants', SkuId: 'credits', SkuPriceId: grantId, ChargeDescription: `Credits (${source})` },
  };
}

const adjustmentRow = (microUsd: bigint, what: string, common: FocusRow): FocusRow => ({
  ...{ ...common, ...ONCE, ChargeCategory: 'Adjustment', BilledCost: '0', EffectiveCost: usdOfMicro(microUsd) },
  ...{ ListCost: '0', ContractedCost: '0', ChargeDescription: what },
});

const ONCE = { ChargeFrequency: 'One-Time', PricingCategory: '' } as const;

function commonOf({ recorded, recordedAt, customer }: Entry): FocusRow {
  return {
    ...{
      BillingAccountId: customer,
      BillingAccountName: customer,
      BillingAccountType: 'Account',
      BillingCurrency: 'USD',
    },
    ...{ BillingPeriodStart: monthAt(recordedAt, 0), BillingPeriodEnd: monthAt(recordedAt, 1) },
    ...periodOf(recordedAt, recordedAt),
    ...{ InvoiceIssuerName: PROVIDER, ProviderName: PROVIDER, PublisherName: PROVIDER, ServiceName: PROVIDER },
    ...{ ServiceCategory: 'AI and Machine Learning', ServiceSubcategory: 'Generative AI', x_EventId: recorded.id },
  };
}

/** When the request ran, where its usage stands before its debit. */
function timesOf({ requestId }: Debit, newest: RecordedEvent | undefined): FocusRow {
  if (newest === undefined) return {};
  const usage = decodeEvent(newest).data as UsageRecorded;
  return usage.requestId === requestId ? periodOf(usage.startedAt, usage.finishedAt) : {};
}

const SECOND_MS = 1_000;

/** Whole seconds, the end exclusive and after the start. */
function periodOf(from: string, to: string): FocusRow {
  const startMs = Math.floor(Date.parse(from) / SECOND_MS) * SECOND_MS;
  const endMs = Math.max(startMs + SECOND_MS, Math.ceil(Date.parse(to) / SECOND_MS) * SECOND_MS);
  return { ChargePeriodStart: toSecond(startMs), ChargePeriodEnd: toSecond(endMs) };
}

const toSecond = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

const monthAt = (instant: string, later: number): string =>
  toSecond(Date.UTC(Number(instant.slice(0, 4)), Number(instant.slice(5, 7)) - 1 + later));

const sumOf = ({ postings }: Entry, account: string): bigint =>
  postings.reduce((sum, posting) => (posting.account === account ? sum + posting.microUsd : sum), 0n);

const min = (one: bigint, other: bigint): bigint => (one < other ? one : other);
