import { decodeEvent } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { EventData, UsageRecorded } from '../../contracts/events.ts';
import { PICO_PER_MICRO } from '../../contracts/money.ts';
import type { Entry } from '../postings/bookkeeper.ts';
import {
  BREAKAGE,
  isMoney,
  PREMIUM,
  paidCredits,
  receivable,
  USAGE_OWED,
  USAGE_PAID,
} from '../postings/chart-of-accounts.ts';
import type { BooksForm } from './book-entries.ts';
import { csvField, csvLine, lineOf } from './csv-line.ts';
import { usdOfMicro, usdOfPico } from './decimal-text.ts';
import { FocusTimes } from './focus-times.ts';

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
 * life BilledCost is EffectiveCost and the paid credit that is left, less what is owed. What expires unused, and what was
 * owed and is filled by credit that nobody paid for, are charges that come of those: an Adjustment each, of EffectiveCost alone.
 */
export function focusForm(): BooksForm {
  /** Of each stream the usage whose debit is still to come: it follows it in its append. */
  const usages = new Map<string, RecordedEvent>();
  /** What was reported late of a request, and nobody has decided on: what it costs by its rate card, in pico-USD. */
  const late = new Map<string, bigint>();
  const times = new FocusTimes();
  const rows = new FocusRows(times);
  return {
    takesUnbooked: true,
    begin: () => csvLine(COLUMNS),
    see: (recorded) => {
      if (recorded.type === 'UsageRecorded') usages.set(recorded.stream, recorded);
      else if (recorded.type === 'LateUsageReported' || recorded.type === 'ExceptionDropped') {
        const event = decodeEvent(recorded);
        if (event.type === 'LateUsageReported') late.set(event.data.requestId, event.data.cost);
        else if (event.type === 'ExceptionDropped') late.delete(event.data.requestId);
      }
    },
    entry: (entry) => {
      const { event, recorded, recordedAt } = entry;
      const atOnce = times.periodOf(recordedAt);
      switch (event.type) {
        case 'CreditsDebited': {
          const usage = usages.get(recorded.stream);
          usages.delete(recorded.stream);
          return rows.usage(entry, event.data, {
            ...{ lines: pricedLines(event.data), period: timesOf(event.data, usage, times) ?? atOnce },
          });
        }
        case 'ExceptionApproved':
          return rows.usage(entry, event.data, {
            lines: [approvedLine(event.data, late.get(event.data.requestId) ?? 0n)],
            period: atOnce,
          });
        case 'GrantRevoked':
        case 'GrantRestored':
        case 'DebitReversed':
        case 'BalanceAdjusted':
          return rows.correction(entry, event.data.reason, atOnce);
        case 'PaymentRefunded':
          return rows.correction(entry, because(`refund ${event.data.refundId}`, event.data), atOnce);
        case 'RefundWithdrawn':
          return rows.correction(entry, because(`refund ${event.data.refundId} withdrawn`, event.data), atOnce);
        case 'PaymentDisputed':
        case 'DisputeClosed':
          return rows.correction(entry, because(`dispute ${event.data.disputeId}`, event.data), atOnce);
        default:
          return rows.others(entry, atOnce);
      }
    },
    end: () => [],
  };
}

/** A provider that tells it says no more. */
const because = (what: string, { reason }: { readonly reason: string | null }): string =>
  reason === null ? what : `${what}: ${reason}`;

type Period = readonly [start: string, end: string];

/** Lines of which the fields that never differ were made once. */
class FocusRows {
  readonly #times: FocusTimes;

  constructor(times: FocusTimes) {
    this.#times = times;
  }

  /** A line for each that has a price. What they have in common is made once: a log has more of them than of anything else. */
  usage(
    entry: Entry,
    data: Debit,
    { lines: priced, period }: { readonly lines: readonly PricedLine[]; readonly period: Period },
  ): string {
    const fields = this.#begun(USAGE, entry, period);
    const { model, lane, keyId, requestId, cost: total } = data;
    fields[PLACES.SkuId] = csvField(model);
    fields[PLACES.SubAccountId] = fields[PLACES.SubAccountName] = csvField(keyId);
    fields[PLACES.SkuPriceDetails] = DETAILS[lane];
    fields[PLACES.x_RequestId] = requestId;
    const effective = -(sumOf(entry, USAGE_PAID) + sumOf(entry, USAGE_OWED)) * PICO_PER_MICRO;
    let [costBefore, given, lines] = [0n, 0n, ''];
    for (const { meter, quantity, unit, rate, cost, listed } of priced) {
      costBefore += cost;
      // Each line has its part, and all together have the whole.
      const upToHere = total === 0n ? 0n : (effective * costBefore) / total;
      // Figures stand in a field as they are.
      fields[PLACES.EffectiveCost] = usdOfPico(upToHere - given);
      fields[PLACES.ListCost] = fields[PLACES.ContractedCost] = usdOfPico(listed);
      fields[PLACES.ListUnitPrice] = fields[PLACES.ContractedUnitPrice] = usdOfPico(rate);
      fields[PLACES.PricingQuantity] = fields[PLACES.ConsumedQuantity] = quantity;
      fields[PLACES.PricingUnit] = fields[PLACES.ConsumedUnit] = unit;
      fields[PLACES.SkuMeter] = csvField(meter);
      fields[PLACES.SkuPriceId] = csvField(`${model}/${lane}/${meter}`);
      fields[PLACES.ChargeDescription] = csvField(`${model}: ${meter}`);
      lines += lineOf(fields);
      given = upToHere;
    }
    return lines;
  }

  /** What was paid for, and what is no usage and takes paid credit all the same, or turns out to be paid by nobody. */
  others(entry: Entry, period: Period): string {
    const { event } = entry;
    const earned = -sumOf(entry, BREAKAGE) - sumOf(entry, PREMIUM);
    const unpaid = -paidByNobody(entry);
    return (
      (event.type === 'CreditsGranted' && event.data.costBasis > 0n ? this.#purchase(entry, event.data, period) : '') +
      this.#adjustment(entry, { microUsd: earned, what: 'Paid credit that nothing was used of', period }) +
      this.#adjustment(entry, {
        ...{ microUsd: unpaid, what: 'Usage that was owed, paid by credit that was given away', period },
      })
    );
  }

  /** What was paid back, or again; and what that leaves to be borne of credit that was paid for and of what is owed. */
  correction(entry: Entry, reason: string, period: Period): string {
    const { postings, customer } = entry;
    const billed = postings.reduce((sum, { account, microUsd }) => (isMoney(account) ? sum + microUsd : sum), 0n);
    const unspent = -sumOf(entry, paidCredits(customer)) - sumOf(entry, receivable(customer));
    if (billed === 0n && unspent === 0n) return '';
    const fields = this.#begun(CORRECTION, entry, period);
    const cost = usdOfMicro(billed);
    for (const name of ['BilledCost', 'ListCost', 'ContractedCost'] as const) fields[PLACES[name]] = cost;
    fields[PLACES.EffectiveCost] = usdOfMicro(billed - unspent);
    fields[PLACES.ChargeDescription] = csvField(reason);
    return lineOf(fields);
  }

  #purchase(entry: Entry, { costBasis, source }: EventData<'CreditsGranted'>, period: Period): string {
    const fields = this.#begun(PURCHASE, entry, period);
    const cost = usdOfMicro(costBasis);
    for (const name of ['BilledCost', 'ListCost', 'ContractedCost', 'ListUnitPrice', 'ContractedUnitPrice'] as const)
      fields[PLACES[name]] = cost;
    fields[PLACES.SkuPriceId] = `credits/${source}`;
    fields[PLACES.ChargeDescription] = `Credits (${source})`;
    return lineOf(fields);
  }

  #adjustment(
    entry: Entry,
    { microUsd, what, period }: { readonly microUsd: bigint; readonly what: string; readonly period: Period },
  ): string {
    if (microUsd === 0n) return '';
    const fields = this.#begun(ADJUSTMENT, entry, period);
    fields[PLACES.EffectiveCost] = usdOfMicro(microUsd);
    fields[PLACES.ChargeDescription] = csvField(what);
    return lineOf(fields);
  }

  #begun(ofCategory: readonly string[], { recorded, recordedAt, customer }: Entry, [start, end]: Period): string[] {
    const fields = ofCategory.slice();
    const month = this.#times.monthOf(recordedAt);
    // Ids of accounts and events, and times, have nothing in them that a field must not have.
    fields[PLACES.BillingAccountId] = fields[PLACES.BillingAccountName] = customer;
    fields[PLACES.BillingPeriodStart] = month[0];
    fields[PLACES.BillingPeriodEnd] = month[1];
    fields[PLACES.ChargePeriodStart] = start;
    fields[PLACES.ChargePeriodEnd] = end;
    fields[PLACES.x_EventId] = recorded.id;
    return fields;
  }
}

const fieldsOf = (row: FocusRow): readonly string[] => COLUMNS.map((name) => csvField(row[name] ?? ''));

const CONSTANT: FocusRow = {
  ...{ BillingAccountType: 'Account', BillingCurrency: 'USD', InvoiceIssuerName: PROVIDER, ProviderName: PROVIDER },
  ...{ PublisherName: PROVIDER, ServiceName: PROVIDER, ServiceCategory: 'AI and Machine Learning' },
  ServiceSubcategory: 'Generative AI',
};
const USAGE = fieldsOf({
  ...{ ...CONSTANT, ChargeCategory: 'Usage', ChargeFrequency: 'Usage-Based', PricingCategory: 'Standard' },
  ...{ BilledCost: '0', SubAccountType: 'API key' },
});
const PURCHASE = fieldsOf({
  ...{ ...CONSTANT, ChargeCategory: 'Purchase', ChargeFrequency: 'One-Time', PricingCategory: 'Standard' },
  ...{ EffectiveCost: '0', PricingQuantity: '1', PricingUnit: 'Grants', SkuId: 'credits', SkuMeter: 'grant' },
});
const ADJUSTMENT = fieldsOf({
  ...{ ...CONSTANT, ChargeCategory: 'Adjustment', ChargeFrequency: 'One-Time' },
  ...{ BilledCost: '0', ListCost: '0', ContractedCost: '0' },
});
const CORRECTION = fieldsOf({
  ...{ ...CONSTANT, ChargeCategory: 'Adjustment', ChargeClass: 'Correction', ChargeFrequency: 'One-Time' },
});
const DETAILS: Readonly<Record<Debit['lane'], string>> = {
  standard: csvField('{"x_Lane":"standard"}'),
  fast: csvField('{"x_Lane":"fast"}'),
};

/** Of what was owed the part that free credit has filled. */
function paidByNobody(entry: Entry): bigint {
  const { event, customer } = entry;
  if (event.type !== 'CreditsGranted' && event.type !== 'CreditsReinstated') return 0n;
  const filled = -sumOf(entry, receivable(customer));
  if (filled === 0n) return 0n;
  const paidIn =
    event.type === 'CreditsGranted' ? min(event.data.costBasis, event.data.amount) : sumOf(entry, BREAKAGE);
  const paidLeft = -sumOf(entry, paidCredits(customer));
  return filled - (paidIn - paidLeft);
}

interface PricedLine {
  readonly meter: string;
  readonly quantity: string;
  readonly unit: 'Tokens' | 'Uses' | 'Requests';
  readonly rate: bigint;
  readonly cost: bigint;
  /** What of it stands in no other row. */
  readonly listed: bigint;
}

/** What a hold has left out has its quantity and its list cost in the row of the debit that it was left out of. */
const approvedLine = ({ cost }: Debit, late: bigint): PricedLine => ({
  ...{ meter: 'approved exception', quantity: '1', unit: 'Requests', rate: late, cost, listed: late },
});

function pricedLines(data: EventData<'CreditsDebited'>): PricedLine[] {
  return [
    ...data.lines.map(({ tokenClass, tokens, rate, cost }) => ({
      ...{ meter: tokenClass, quantity: tokens.toString(), unit: 'Tokens' as const, rate, cost, listed: cost },
    })),
    ...data.uses.map(({ use, count, rate, cost }) => ({
      ...{ meter: use, quantity: count.toString(), unit: 'Uses' as const, rate, cost, listed: cost },
    })),
  ];
}

/** As the codec writes usage: a name with its quotes and colon is never within a text of JSON. */
const STARTED = ',"startedAt":"';
const FINISHED = '","finishedAt":"';
const INSTANT_CHARS = '2027-01-01T00:00:00.000Z'.length;

/** When the request ran; null where its usage does not stand before its debit. */
function timesOf({ requestId }: Debit, usage: RecordedEvent | undefined, times: FocusTimes): Period | null {
  if (usage === undefined) return null;
  // To read all of it for two times would take as long as to read the debit.
  const started = usage.data.indexOf(STARTED) + STARTED.length;
  const finished = started + INSTANT_CHARS + FINISHED.length;
  if (usage.data.startsWith(`{"requestId":"${requestId}",`) && usage.data.startsWith(FINISHED, started + INSTANT_CHARS))
    return times.periodOf(
      usage.data.slice(started, started + INSTANT_CHARS),
      usage.data.slice(finished, finished + INSTANT_CHARS),
    );
  const data = decodeEvent(usage).data as UsageRecorded;
  return data.requestId === requestId ? times.periodOf(data.startedAt, data.finishedAt) : null;
}

const sumOf = ({ postings }: Entry, account: string): bigint =>
  postings.reduce((sum, posting) => (posting.account === account ? sum + posting.microUsd : sum), 0n);

const min = (one: bigint, other: bigint): bigint => (one < other ? one : other);
