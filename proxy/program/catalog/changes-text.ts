import type { ModelChange } from '../../../ledger/catalog/catalog-changes.ts';
import type { CommandContext } from '../command-context.ts';
import { fittingTable } from '../show.ts';

const COLUMNS = ['model', 'field', 'from', 'to'].map((head) => ({ head, align: 'left' as const }));

/** A row a field, side by side. */
export const changesText = (changes: readonly ModelChange[], context: CommandContext): string =>
  fittingTable(
    COLUMNS,
    changes.flatMap(({ model, change, fields }) => [
      ...(change === 'changed' ? [] : [[model, change, '', '']]),
      ...fields
        .filter(({ field }) => change === 'changed' || field.startsWith('price.'))
        .map(({ field, from, to }) => [model, field, from ?? '-', to ?? '-']),
    ]),
    context,
  );
