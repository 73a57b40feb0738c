import type { ModelChange, PlanChange } from '../../../ledger/catalog/catalog-changes.ts';
import type { CommandContext } from '../command-context.ts';
import { fittingTable } from '../show.ts';

const COLUMNS = ['model', 'field', 'from', 'to'].map((head) => ({ head, align: 'left' as const }));

/** What of an entry that is new, or gone, is shown. */
const IN_SHORT = /^(price|credits|lanes)\b/;

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
        .map(({ field, from, to }) => [model, field, from ?? '-', to ?? '-']),
    ]),
    context,
  );
