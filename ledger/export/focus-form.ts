import { decodeEvent } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { EventData, UsageRecorded } from '../../contracts/events.ts';
import { PICO_PER_MICRO } from '../../contracts/money.ts';
import type { Entry } from '../postings/bookkeeper.ts';
import { BREAKAGE, PREMIUM, USAGE_OWED, USAGE_PAID } from '../postings/chart-of-accounts.ts';
import type { BooksForm } from './book-entries.ts';
import { csvField, csvLine, lineOf } from './csv-line.ts';
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
] as const;
type Column = (typeof COLUMNS)[number];
type FocusRow = Readonly<Partial<Record<Column, string>>>;
const PLACES = Object.fromEntries(COLUMNS.map((name, place) => [name, place])) as Readonly<Record<Column, number>>;
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
  const monthOf = months();
  return {
    takesUnbooked: true,
    begin: () => csvLine(COLUMNS),
    see: (recorded) => {
      if (recorded.type === 'UsageRecorded') usages.set(recorded.stream, recorded);
    },
    entry: (entry) => linesOf(entry, monthOf(entry.recordedAt), usages.get(entry.recorded.stream)),
    end: () => [],
  };
}

function linesOf(entry: Entry, month: FocusRow, newest: RecordedEvent | undefined): string {
  const { event, recordedAt } = entry;
  const common = { ...CONSTANT, ...month, ...ofEntry(entry) };
  let lines = '';
  if (event.type === 'CreditsDebited' || event.type === 'ExceptionApproved')
    lines += usageLines(entry, event.data, { ...common, ...(timesOf(event.data, newest) ?? periodOf(recordedAt)) });
  if (event.type === 'CreditsGranted' && event.data.costBasis > 0n)
    lines += lineOfRow(purchaseRow(event.data, { ...common, ...periodOf(recordedAt) }));
  // What is no usage and takes paid credit all the same, or turns out to be paid by nobody.
  const earned = -sumOf(entry, BREAKAGE) - sumOf(entry, PREMIUM);
  const unpaid = paidByNobody(entry);
  const adjusted = (microUsd: bigint, what: string): string =>
    microUsd === 0n ? '' : lineOfRow(adjustmentRow(microUsd, what, { ...common, ...periodOf(recordedAt) }));
  lines += adjusted(earned, 'Paid credit that nothing was used of');
  return lines + adjusted(-unpaid, 'Usage that was owed, paid by credit that was given away');
}

const fieldsOf = (row: FocusRow): string[] => COLUMNS.map((name) => csvField(row[name] ?? ''));
const lineOfRow = (row: FocusRow): string => lineOf(fieldsOf(row));

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

/** A line for each that has a price. What they have in common is made once: a log has more of them than of anything else. */
function usageLines(entry: Entry, data: Debit, common: FocusRow): string {
  const effective = -(sumOf(entry, USAGE_PAID) + sumOf(entry, USAGE_OWED)) * PICO_PER_MICRO;
  const fields = fieldsOf({
    ...{ ...common, ChargeCategory: 'Usage', ChargeFrequency: 'Usage-Based', PricingCategory: 'Standard' },
    ...{ BilledCost: '0', SkuId: data.model, SubAccountId: data.keyId, SubAccountType: 'API key' },
    ...{ SkuPriceDetails: JSON.stringify({ x_Lane: data.lane }), x_RequestId: data.requestId },
  });
  const total = data.cost;
  let [costBefore, given, text] = [0n, 0n, ''];
  for (const { meter, quantity, unit, rate, cost } of pricedLines(data)) {
    costBefore += cost;
    // Each line has its part, and all together have the whole.
    const upToHere = total === 0n ? 0n : (effective * costBefore) / total;
    // Figures stand in a field as they are.
    fields[PLACES.EffectiveCost] = usdOfPico(upToHere - given);
    fields[PLACES.ListCost] = fields[PLACES.ContractedCost] = usdOfPico(cost);
    fields[PLACES.ListUnitPrice] = fields[PLACES.ContractedUnitPrice] = usdOfPico(rate);
    fields[PLACES.PricingQuantity] = fields[PLACES.ConsumedQuantity] = quantity;
    fields[PLACES.PricingUnit] = fields[PLACES.ConsumedUnit] = unit;
    fields[PLACES.SkuMeter] = csvField(meter);
    fields[PLACES.SkuPriceId] = csvField(`${data.model}/${data.lane}/${meter}`);
    fields[PLACES.ChargeDescription] = csvField(`${data.model}: ${meter}`);
    text += lineOf(fields);
    given = upToHere;
  }
  return text;
}

interface PricedLine {
  readonly meter: string;
  readonly quantity: string;
  readonly unit: 'Tokens' | 'Uses' | 'Requests';
  readonly rate: bigint;
  readonly cost: bigint;
}

function pricedLines(data: Debit): PricedLine[] {
  if (!('lines' in data))
    return [{ meter: 'approved exception', quantity: '1', unit: 'Requests', rate: data.cost, cost: data.cost }];
  return [
    ...data.lines.map(({ tokenClass, tokens, rate, cost }) => ({
      ...{ meter: tokenClass, quantity: tokens.toString(), unit: 'Tokens' as const, rate, cost },
    })),
    ...data.uses.map(({ use, count, rate, cost }) => ({
      ...{ meter: use, quantity: count.toString(), unit: 'Uses' as const, rate, cost },
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

const CONSTANT: FocusRow = {
  ...{ BillingAccountType: 'Account', BillingCurrency: 'USD', InvoiceIssuerName: PROVIDER, ProviderName: PROVIDER },
  ...{ PublisherName: PROVIDER, ServiceName: PROVIDER, ServiceCategory: 'AI and Machine Learning' },
  ServiceSubcategory: 'Generative AI',
};

const ofEntry = ({ recorded, customer }: Entry): FocusRow => ({
  ...{ BillingAccountId: customer, BillingAccountName: customer, x_EventId: recorded.id },
});

/** When the request ran; null where its usage does not stand before its debit. */
function timesOf({ requestId }: Debit, newest: RecordedEvent | undefined): FocusRow | null {
  if (newest === undefined) return null;
  const usage = decodeEvent(newest).data as UsageRecorded;
  return usage.requestId === requestId ? periodOf(usage.startedAt, usage.finishedAt) : null;
}

const SECOND_MS = 1_000;

/** Whole seconds, the end exclusive and after the start. */
function periodOf(from: string, to = from): FocusRow {
  const startMs = Math.floor(Date.parse(from) / SECOND_MS) * SECOND_MS;
  const endMs = Math.max(startMs + SECOND_MS, Math.ceil(Date.parse(to) / SECOND_MS) * SECOND_MS);
  return { ChargePeriodStart: toSecond(startMs), ChargePeriodEnd: toSecond(endMs) };
}

const toSecond = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** The month of an instant. Most have that of the one before. */
function months(): (instant: string) => FocusRow {
  let [known, row]: [string, FocusRow] = ['', {}];
  return (instant) => {
    const month = instant.slice(0, 7);
    if (month === known) return row;
    known = month;
    row = { BillingPeriodStart: monthAt(instant, 0), BillingPeriodEnd: monthAt(instant, 1) };
    return row;
  };
}

const monthAt = (instant: string, later: number): string =>
  toSecond(Date.UTC(Number(instant.slice(0, 4)), Number(instant.slice(5, 7)) - 1 + later));

const sumOf = ({ postings }: Entry, account: string): bigint =>
  postings.reduce((sum, posting) => (posting.account === account ? sum + posting.microUsd : sum), 0n);

const min = (one: bigint, other: bigint): bigint => (one < other ? one : other);
