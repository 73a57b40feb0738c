import { expect, it } from 'vitest';
import { viewsOfThisProgram } from '../../projections/views-of-this-program.ts';

const raised = viewsOfThisProgram().filter(({ version }) => version > 1);

it.each(raised.map((view) => [view.name, view] as const))(
  'the %s view reads rows that the version before it has left, so that a next program serves from them at once',
  (_name, view) => {
    const older = view.olderTables?.(view.version - 1) ?? [];
    expect(older.length).toBeGreaterThan(0);
    for (const { from, to } of older) {
      expect(view.tables).toContain(to);
      expect(view.tables.map(({ name }) => name)).not.toContain(from.name);
    }
  },
);
