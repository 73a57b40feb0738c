/** A row of a FOCUS file: text by column; what is empty is null. */
export type FocusRow = Readonly<Record<string, string>>;

type Type = 'String' | 'Decimal' | 'Price' | 'Date/Time' | 'JSON';
interface Column {
  readonly type: Type;
  readonly isMandatory: boolean;
  readonly isNullable: boolean;
  readonly values?: readonly string[];
}

/** The columns of FOCUS 1.2 as published, each page's content constraints: level, nulls, data type, allowed values. */
const COLUMNS: Readonly<Record<string, Column>> = {
  ...columns('mandatory', 'not null', 'Decimal', 'BilledCost ContractedCost EffectiveCost ListCost'),
  ...columns(
    ...(['mandatory', 'not null', 'Date/Time'] as const),
    'BillingPeriodEnd BillingPeriodStart ChargePeriodEnd ChargePeriodStart',
  ),
  ...columns(
    ...(['mandatory', 'not null', 'String'] as const),
    'BillingAccountId BillingCurrency InvoiceIssuerName ProviderName PublisherName ServiceName',
  ),
  ...columns('mandatory', 'null', 'String', 'BillingAccountName ChargeDescription PricingUnit'),
  ...columns('mandatory', 'null', 'Decimal', 'PricingQuantity'),
  ...columns('other', 'not null', 'String', 'BillingAccountType'),
  ...columns(
    ...(['other', 'null', 'String'] as const),
    'AvailabilityZone CapacityReservationId CommitmentDiscountId CommitmentDiscountName CommitmentDiscountType ' +
      'CommitmentDiscountUnit ConsumedUnit InvoiceId PricingCurrency RegionId RegionName ResourceId ResourceName ' +
      'ResourceType SkuId SkuMeter SkuPriceId SubAccountId SubAccountName SubAccountType',
  ),
  ...columns(
    ...(['other', 'null', 'Decimal'] as const),
    'CommitmentDiscountQuantity ConsumedQuantity PricingCurrencyEffectiveCost',
  ),
  ...columns(
    ...(['other', 'null', 'Price'] as const),
    'ContractedUnitPrice ListUnitPrice PricingCurrencyContractedUnitPrice PricingCurrencyListUnitPrice',
  ),
  ...columns('other', 'null', 'JSON', 'SkuPriceDetails Tags'),
  ...oneOf('ChargeCategory', 'mandatory', 'not null', ['Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment']),
  ...oneOf('ChargeClass', 'mandatory', 'null', ['Correction']),
  ...oneOf('ChargeFrequency', 'other', 'not null', ['One-Time', 'Recurring', 'Usage-Based']),
  ...oneOf('CapacityReservationStatus', 'other', 'null', ['Used', 'Unused']),
  ...oneOf('CommitmentDiscountCategory', 'other', 'null', ['Spend', 'Usage']),
  ...oneOf('CommitmentDiscountStatus', 'other', 'null', ['Used', 'Unused']),
  ...oneOf('PricingCategory', 'other', 'null', ['Standard', 'Dynamic', 'Committed', 'Other']),
  // Of the categories of services, and what is below them, the one that fits.
  ...oneOf('ServiceCategory', 'mandatory', 'not null', ['AI and Machine Learning']),
  ...oneOf('ServiceSubcategory', 'other', 'not null', [
    ...['AI Platforms', 'Bots', 'Generative AI', 'Machine Learning', 'Natural Language Processing'],
    'Other (AI and Machine Learning)',
  ]),
};

type Level = 'mandatory' | 'other';
type Nulls = 'null' | 'not null';

function columns(level: Level, nulls: Nulls, type: Type, names: string): Record<string, Column> {
  const column = { type, isMandatory: level === 'mandatory', isNullable: nulls === 'null' };
  return Object.fromEntries(names.split(' ').map((name) => [name, column]));
}

function oneOf(name: string, level: Level, nulls: Nulls, values: readonly string[]): Record<string, Column> {
  return { [name]: { type: 'String', isMandatory: level === 'mandatory', isNullable: nulls === 'null', values } };
}

const DECIMAL = /^-?\d+(\.\d+)?$/;
const IS_OF: { readonly [T in Type]: (text: string) => boolean } = {
  String: (text) => text.trim() !== '',
  Decimal: (text) => DECIMAL.test(text),
  Price: (text) => DECIMAL.test(text) && !text.startsWith('-'),
  'Date/Time': (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) && !Number.isNaN(Date.parse(text)),
  JSON: (text) => Object.values(JSON.parse(text)).every((value) => value === null || typeof value !== 'object'),
};

/** Pico-USD of a decimal. */
export function picoOf(text = ''): bigint {
  const [whole = '', part = ''] = text.replace('-', '').split('.');
  return BigInt(whole + part.padEnd(12, '0')) * (text.startsWith('-') ? -1n : 1n);
}

const isPriced = ({ ChargeCategory }: FocusRow): boolean => ChargeCategory === 'Usage' || ChargeCategory === 'Purchase';
const isTogether = (row: FocusRow, one: string, other: string): boolean => (row[one] === '') === (row[other] === '');
const isCost = (row: FocusRow, cost: string, price: string): boolean =>
  row[price] === ''
    ? picoOf(row[cost]) === picoOf(row.BilledCost)
    : picoOf(row[price]) * picoOf(row.PricingQuantity) === picoOf(row[cost]) * 10n ** 12n;

/** What the pages of the columns say of several of them, where no row is a correction. */
const RULES: Readonly<Record<string, (row: FocusRow) => boolean>> = {
  'usage and purchases have SKU, price, quantity and category': (row) =>
    !isPriced(row) ||
    ['SkuId', 'SkuPriceId', 'ListUnitPrice', 'ContractedUnitPrice', 'PricingQuantity', 'PricingCategory'].every(
      (name) => row[name] !== '',
    ),
  'usage alone consumes': (row) => (row.ChargeCategory === 'Usage') === (row.ConsumedQuantity !== ''),
  'a purchase is not by usage': (row) => row.ChargeCategory !== 'Purchase' || row.ChargeFrequency !== 'Usage-Based',
  'what covers later charges has no effective cost': (row) =>
    row.ChargeCategory !== 'Purchase' || picoOf(row.EffectiveCost) === 0n,
  'a quantity has a unit': (row) =>
    isTogether(row, 'ConsumedQuantity', 'ConsumedUnit') && isTogether(row, 'PricingQuantity', 'PricingUnit'),
  'a sub-account has a name and a type': (row) =>
    isTogether(row, 'SubAccountId', 'SubAccountName') && isTogether(row, 'SubAccountId', 'SubAccountType'),
  'an SKU has a meter': (row) => isTogether(row, 'SkuId', 'SkuMeter'),
  'details are of a price': ({ SkuPriceDetails, SkuPriceId }) => SkuPriceDetails === '' || SkuPriceId !== '',
  'list cost is price by quantity, else what is billed': (row) => isCost(row, 'ListCost', 'ListUnitPrice'),
  'contracted cost likewise': (row) => isCost(row, 'ContractedCost', 'ContractedUnitPrice'),
  'properties of a price are our own': ({ SkuPriceDetails = '' }) =>
    SkuPriceDetails === '' || Object.keys(JSON.parse(SkuPriceDetails)).every((key) => key.startsWith('x_')),
  'units are plural and begin with a capital': ({ PricingUnit = '' }) => /^([A-Z][a-z]+s)?$/.test(PricingUnit),
  'the currency is of ISO 4217': ({ BillingCurrency }) => BillingCurrency === 'USD',
  'a period begins before it ends': (row) =>
    (row.ChargePeriodStart ?? '') < (row.ChargePeriodEnd ?? '') &&
    (row.BillingPeriodStart ?? '') < (row.BillingPeriodEnd ?? ''),
};

/** What of a file is not as FOCUS 1.2 has it, each once. */
export function focusFaults(header: readonly string[], rows: readonly FocusRow[]): string[] {
  const faults = new Set<string>();
  const own = header.filter((name) => name.startsWith('x_'));
  const theirs = header.slice(0, header.length - own.length);
  if (own.some((name, at) => name !== header[theirs.length + at])) faults.add('own columns are last');
  for (const name of theirs) if (!Object.hasOwn(COLUMNS, name)) faults.add(`${name}: no such column`);
  for (const [name, { isMandatory }] of Object.entries(COLUMNS))
    if (isMandatory && !header.includes(name)) faults.add(`${name}: is not there`);
  const skus = new Map<string, string>();
  for (const row of rows) {
    for (const name of theirs) {
      const text = row[name] ?? '';
      const column = COLUMNS[name];
      if (column === undefined) continue;
      if (text === '' && !column.isNullable) faults.add(`${name}: is null`);
      if (text !== '' && !IS_OF[column.type](text)) faults.add(`${name}: ${text} is no ${column.type}`);
      if (text !== '' && column.values?.includes(text) === false) faults.add(`${name}: ${text} is not allowed`);
    }
    for (const [rule, holds] of Object.entries(RULES)) if (!holds(row)) faults.add(`${rule}: ${JSON.stringify(row)}`);
    const { SkuPriceId = '', SkuId = '' } = row;
    if (SkuPriceId !== '' && (skus.get(SkuPriceId) ?? SkuId) !== SkuId) faults.add(`${SkuPriceId}: of two SKUs`);
    skus.set(SkuPriceId, SkuId);
  }
  return [...faults];
}
