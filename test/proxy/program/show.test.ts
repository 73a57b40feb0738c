import { Command } from 'commander';
import { expect, it } from 'vitest';
import { onOneLine } from '../../../contracts/printable.ts';
import type { CommandContext } from '../../../proxy/program/command-context.ts';
import {
  fittingTable,
  plainTable,
  type ShownRow,
  show,
  showRows,
  table,
  wrapped,
} from '../../../proxy/program/show.ts';

const COUNT = 1_050;
const ROW: ShownRow<number> = { head: ['n'], cells: (n) => [`${n}`], json: (n) => ({ n }) };

/** A command that has `--json` or not, what it writes, and how many of many rows had been taken at each write. */
function scene(isJson: boolean) {
  const command = new Command('list').option('--json');
  if (isJson) command.parse(['--json'], { from: 'user' });
  const written: string[] = [];
  const takenAt: number[] = [];
  let taken = 0;
  function* rows(): Generator<number> {
    for (let n = 0; n < COUNT; n++) {
      taken += 1;
      yield n;
    }
  }
  const write = (text: string): void => {
    written.push(text);
    takenAt.push(taken);
  };
  return { command, written, takenAt, rows: rows(), context: { write } as CommandContext };
}

it.each([false, true])(
  'many rows are written as they are taken, the first before the last is there (JSON: %j)',
  async (isJson) => {
    const { context, command, rows, written, takenAt } = scene(isJson);
    await showRows(context, command, rows, ROW);
    expect(takenAt.slice(0, 3)).toEqual([100, 200, 300]);
    expect(takenAt.at(-1)).toBe(COUNT);
    const all = written.join('');
    if (isJson) expect(JSON.parse(all)).toEqual(Array.from({ length: COUNT }, (_, n) => ({ n })));
    else expect(all.match(/^\d+$/gm)).toHaveLength(COUNT);
    expect(all.endsWith('\n')).toBe(true);
  },
);

it('who has seen enough ends it: no further row is taken', async () => {
  const { context, command, rows, takenAt } = scene(false);
  const closed = {
    ...context,
    write: () => {
      throw new Error('EPIPE');
    },
  };
  await expect(showRows(closed, command, rows, ROW)).rejects.toThrow('EPIPE');
  expect(takenAt).toEqual([]);
  expect(rows.next().done).toBe(true);
});

it('none at all is the head of a table, or an empty array', async () => {
  for (const [isJson, expected] of [
    [false, /^n\n$/],
    [true, /^\[\]\n$/],
  ] as const) {
    const { context, command, written } = scene(isJson);
    await showRows(context, command, [], ROW);
    expect(written.join('')).toMatch(expected);
  }
});

it('what is for people is not drawn for machines', () => {
  const { context, command, written } = scene(true);
  const text = (): string => {
    throw new Error('drawn');
  };
  show(context, command, { json: { n: 1n }, text });
  expect(written).toEqual(['{"n":"1"}\n']);
});

it.each(['Ada’s laptop', '–', '5 €', '鍵 鍵', '👩‍💻 a', '\u1100'])(
  'shows a name in any script, and all of it: %s',
  (name) => {
    const columns = [{ head: 'key', align: 'left' } as const];
    const letters = (text: string): string => text.replaceAll(/\s/g, '');
    const { context } = scene(false);
    expect(plainTable(columns, [[name]])).toBe(`key\n${onOneLine(name)}`);
    for (const width of [2, 3, 4])
      expect(letters(plainTable([{ head: '', align: 'left', width }], [[name]]))).toBe(letters(onOneLine(name)));
    for (const terminal of [{}, { columns: 40 }]) {
      const within = { ...context, ...terminal };
      expect(wrapped(name, within)).toBe(onOneLine(name));
      expect(letters(fittingTable(columns, [[`${name} ${'x'.repeat(60)}`]], within))).toBe(
        letters(`key${onOneLine(name)}${'x'.repeat(60)}`),
      );
    }
  },
);

it('a table has its lines where there is room for it, to the column, and none otherwise', () => {
  const [head, rows] = [['account', 'e-mail'], [['acct_1', 'somebody@example.com']]];
  const drawn = table(head, rows, { columns: 1_000 });

  expect(drawn).toMatch(/^┌.*┐\n│ account │ e-mail +│\n├.*┤\n│ acct_1 +│ somebody@example\.com │\n└.*┘$/);
  expect(table(head, rows, { columns: 60 })).toBe(drawn);
  const wide = [['acct_1', 'x'.repeat(60)]];
  const framed = table(head, wide, { columns: 1_000 });
  const needed = framed.indexOf('\n');

  expect(table(head, wide, { columns: needed })).toBe(framed);
  expect(table(head, wide, { columns: needed - 1 })).toBe(`account  e-mail\nacct_1   ${'x'.repeat(60)}`);
});

it('where there is no terminal a row is a line, whatever its width, and a cell of several lines has commas', () => {
  const wide = 'x'.repeat(500);
  expect(table(['account', 'keys', 'why'], [['acct_1', ['a', 'b'], wide]], {})).toBe(
    `account  keys  why\nacct_1   a, b  ${wide}`,
  );
});
