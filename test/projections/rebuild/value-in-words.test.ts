import { describe, expect, it } from 'vitest';
import { STORED_PARTS, type StoredPart } from '../../../ledger/account/stored-parts.ts';
import { PART_TABLES } from '../../../projections/balance-view.ts';
import { CatalogView } from '../../../projections/catalog-view.ts';
import { valueInWords } from '../../../projections/rebuild/value-in-words.ts';
import { BALANCE_TABLE } from '../../fixtures/ledger/balance-table.ts';

const tableOf = (part: StoredPart): string => PART_TABLES.get(part)?.name ?? expect.fail('no table');
const CATALOG = new CatalogView().tables[0].name;
const EXCEPTIONS = `${BALANCE_TABLE}_exception`;

describe('a value of a row', () => {
  it.each([
    [BALANCE_TABLE, 'balance_micro_usd', '-1234567890', '-1,234.567890 USD'],
    [BALANCE_TABLE, 'state.grants.0.remaining', '1000000000', '1,000.000000 USD'],
    [BALANCE_TABLE, 'state.carry', '7', '0.000000000007 USD'],
    [BALANCE_TABLE, 'state.balance', '-7', '-0.000007 USD'],
    [BALANCE_TABLE, 'state.exceptions.openAmount', '0', '0.000000 USD'],
    [BALANCE_TABLE, 'state.spend.accountLimit', '7', '0.000007 USD'],
    [BALANCE_TABLE, 'state.spend.months.2026-11.account', '7', '0.000007 USD'],
    [BALANCE_TABLE, 'state.spend.otherLimits.members.ada.l@example.com', '7', '0.000007 USD'],
    [BALANCE_TABLE, 'state.billing.payments.attempts.invoice-1.2.refunds.0.amount', '7', '0.000007 USD'],
    [BALANCE_TABLE, 'state.billing.statement.closing', '-7', '-0.000007 USD'],
    [EXCEPTIONS, 'exception.late', '7', '0.000000000007 USD'],
    [tableOf(STORED_PARTS.keyLimits), 'value', '7', '0.000007 USD'],
    [tableOf(STORED_PARTS.spentByKeys), 'value', '7', '0.000007 USD'],
    [tableOf(STORED_PARTS.endedAttempts), 'value.credits', '7', '0.000007 USD'],
    ['monthly_v3', 'amount_pico_usd', '-7', '-0.000000000007 USD'],
    [CATALOG, 'publication.models.0.rateCard.rates.input', '3000000', '0.000003000000 USD'],
    [CATALOG, 'publication.plans.0.price', '2000000000', '2,000.000000 USD'],
  ])('that is money is said in USD: of %s the %s', (table, field, text, said) => {
    expect(valueInWords({ table, field }, text)).toBe(said);
  });

  it.each([
    [BALANCE_TABLE, 'revision', '1000'],
    [BALANCE_TABLE, 'email', '1000'],
    [BALANCE_TABLE, 'state.openedAtMs', '1000'],
    [BALANCE_TABLE, 'state.spend.otherLimits.thresholds.account.0', '80'],
    [BALANCE_TABLE, 'state.constructor.amount', '1000'],
    [BALANCE_TABLE, 'state', '{"carry":"7"}'],
    [BALANCE_TABLE, 'balance_micro_usd', '7.5'],
    [BALANCE_TABLE, 'balance_micro_usd', '007'],
    [EXCEPTIONS, 'state', '1000'],
    [tableOf(STORED_PARTS.keys), 'value.number', '1000'],
    ['monthly_v3', 'count', '1000'],
    [CATALOG, 'publication.version', '1000'],
    ['unknown', 'value', '1000'],
  ])('that is something else, or no amount, stays as it is: of %s the %s', (table, field, text) => {
    expect(valueInWords({ table, field }, text)).toBe(text);
  });
});

it('a whole row is said column by column', () => {
  const row = JSON.stringify(['2', '1000', '3000000000000']);
  expect(valueInWords({ table: 'monthly_v3', field: null }, row)).toBe(
    'requests 2, count 1000, amount_pico_usd 3.000000000000 USD',
  );
  expect(valueInWords({ table: 'unknown', field: null }, row)).toBe(row);
});
