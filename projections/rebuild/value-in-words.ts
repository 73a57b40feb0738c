import type { z } from 'zod';
import {
  BALANCE_PATTERN,
  balanceField,
  microUsdField,
  picoUsdField,
  rateField,
  signedPicoUsdField,
} from '../../contracts/event-fields.ts';
import { EVENT_SCHEMAS } from '../../contracts/events.ts';
import { groupedExactUsd, groupedUsd, picoUsd } from '../../contracts/money.ts';
import { openAccountSchema } from '../../ledger/account/account-state.ts';
import { billingExceptionSchema } from '../../ledger/account/exceptions-state.ts';
import { PART_TABLES } from '../balance-view.ts';
import { viewsOfThisProgram } from '../views-of-this-program.ts';
import type { RowDifference } from './row-difference.ts';

/**
 * A value of a row as people read it: money in USD, in whichever unit it stands there. Of a whole row that is what is a column by itself; JSON stays
 * as it is.
 */
export function valueInWords({ table, field }: Pick<RowDifference, 'table' | 'field'>, text: string): string {
  if (field !== null) return inUsd(table, field, text);
  const of = TABLES.get(table);
  if (of === undefined) return text;
  const columns = Object.keys(of.columns).slice(of.keyColumns);
  const values = JSON.parse(text) as string[];
  return columns.map((column, at) => `${column} ${inUsd(table, column, values[at] ?? '')}`).join(', ');
}

function inUsd(table: string, field: string, text: string): string {
  const [column = '', ...path] = field.split('.');
  const schema = schemaOf(table, column);
  const said = schema === undefined || !BALANCE_PATTERN.test(text) ? null : moneyAt(schema, path);
  return said === null ? text : `${said(BigInt(text))} USD`;
}

const TABLES = new Map(
  viewsOfThisProgram().flatMap(({ tables }) => tables.map((table) => [table.name, table] as const)),
);

/** What the text of a column is one of. */
const COLUMNS: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ['balance_micro_usd', balanceField],
  ['amount_pico_usd', signedPicoUsdField],
  ['state', openAccountSchema],
  ['exception', billingExceptionSchema],
  ['publication', EVENT_SCHEMAS.CatalogPublished],
]);

const schemaOf = (table: string, column: string): z.ZodType | undefined =>
  column === 'value' ? [...PART_TABLES].find(([, { name }]) => name === table)?.[0].schema : COLUMNS.get(column);

type Said = (amount: bigint) => string;

const exact: Said = (amount) => groupedExactUsd(picoUsd(amount));
/** A rate is of one token, or of one use. */
const MONEY: ReadonlyMap<z.core.$ZodType, Said> = new Map<z.core.$ZodType, Said>([
  ...[microUsdField, balanceField].map((field) => [field, groupedUsd] as const),
  ...[picoUsdField, signedPicoUsdField, rateField].map((field) => [field, exact] as const),
]);

/** How money is said that stands at a path; null where it is something else. */
function moneyAt(schema: z.core.$ZodType, path: readonly string[]): Said | null {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const said = MONEY.get(schema);
  if (said !== undefined) return said;
  const [name = '', ...rest] = path;
  switch (def.type) {
    case 'object': {
      const field = Object.entries(def.shape).find(([one]) => one === name)?.[1];
      return field === undefined ? null : moneyAt(field, rest);
    }
    case 'array':
      return moneyAt(def.element, rest);
    case 'record':
      // Its names may have points of their own: an e-mail.
      return path.map((_, at) => moneyAt(def.valueType, path.slice(at + 1))).find((one) => one !== null) ?? null;
    case 'nullable':
      return moneyAt(def.innerType, path);
    case 'pipe':
      return moneyAt(def.in, path);
    default:
      return null;
  }
}
