import { groupedUsd, parseUsd } from '../../../contracts/money.ts';
import type { ModelChange, PlanChange } from '../../../ledger/catalog/catalog-changes.ts';
import type { CommandContext } from '../command-context.ts';
import { fittingTable } from '../show.ts';

const COLUMNS = ['model', 'field', 'from', 'to'].map((head) => ({ head, align: 'left' as const }));

/** What of an entry that is new, or gone, is shown. */
const IN_SHORT = /^(price|credits|lanes)\b/;

/** What of an entry is USD. */
const MONEY = /(^|\.)price(\.(input|output|cache[A-Za-z0-9]+|uses\.\w+))?$|^(credits|overdraft)$/;

/** A row a field, side by side. */
export const changesText = (
  models: readonly ModelChange[],
  plans: readonly PlanChange[],
  context: CommandContext,
): string =>
  fittingTable(
    COLUMNS,
    [...models, ...plans.map((one) => ({ ...one, model: `plan ${one.plan}` }))].flatMap(({ model, change, fields }) => [
      ...(change === 'changed' ? [] : [[model, change, '', '']]),
      ...fields
        .filter(({ field }) => change === 'changed' || IN_SHORT.test(field))
        .map(({ field, from, to }) => [model, field, said(field, from), said(field, to)]),
    ]),
    context,
  );

function said(field: string, value: string | null): string {
  const amount = value !== null && MONEY.test(field) ? parseUsd(value) : null;
  return amount === null ? (value ?? '-') : groupedUsd(amount);
}
