import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { groupedUsd, microUsd } from '../../../contracts/money.ts';
import type { Books } from '../../../ledger/report/books.ts';
import type { ModelBook } from '../../../ledger/report/model-books.ts';
import { MonthBooks } from '../../../ledger/report/month-books.ts';
import type { MonthStatement } from '../../../ledger/report/month-statement.ts';
import { Notes } from '../../../ledger/report/notes.ts';
import { bookPage } from '../../../ledger/report/page.ts';
import { SealCoverage } from '../../../ledger/report/seal-coverage.ts';
import { statementPage } from '../../../ledger/report/statement-page.ts';
import { noSums } from '../../../ledger/statement/open-months.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const isThere = (program: string, ask: string): boolean => spawnSync(program, [ask]).error === undefined;
/** Of Debian's packages chromium and poppler-utils. */
const CAN_PRINT = isThere('chromium', '--version') && isThere('pdftotext', '-v');

const OF = {
  ...{ accountId: 'acct_0123456789abcdef', email: 'grace.hopper@example.com', product: 'gateway' },
  ...{ madeAt: '2026-11-28T10:00:00.000Z', dueAt: '2026-12-04T00:00:00.000Z' },
};

const ROWS = 150;
/** Ten million USD, or as many tokens. */
const LARGE = 9_876_543_210_123n;
const amountOf = (at: number): bigint => -(LARGE + BigInt(at));
/** Of a few lines, whose first and last word are in no other. */
const sentence = (at: number): string => `begin${at}x ${'said of a credit, '.repeat(9)} end${at}x`;
const instant = (at: number): string => new Date(Date.UTC(2026, 10, 1) + at * 9_000_000).toISOString();
const MODELS = Array.from(
  { length: 30 },
  (_, at) => `vendor/a-model-with-a-long-name-2026-11-28-preview-thinking-${at}`,
);
const DAYS = Array.from({ length: 30 }, (_, day) => LARGE / BigInt(day + 1));

const statement: MonthStatement = {
  ...{
    month: '2026-11',
    status: 'open',
    closed: null,
    openedIn: '2026-11',
    opening: LARGE,
    closing: -LARGE,
    ended: 0n,
    endedBefore: 0n,
  },
  sums: { ...noSums(), granted: microUsd(LARGE), debited: microUsd(LARGE) },
  days: DAYS,
  models: MODELS.map((model) => ({ model, lane: 'fast', debited: LARGE })),
  items: MODELS.flatMap((model) =>
    ['input', 'output'].map((item) => ({ model, lane: 'standard', item, count: LARGE, cost: LARGE * 1_000_001n })),
  ),
  ...{ carried: 7n, movementsLeftOut: 0, withPayments: true },
  movements: Array.from({ length: ROWS }, (_, at) => ({
    ...{ at: instant(at), revision: 123_456_000 + at, what: sentence(at), figure: 'debited', amount: amountOf(at) },
  })),
};

function books(): Books {
  const notes = new Notes();
  for (let at = 0; at < ROWS; at++)
    notes.add({
      ...{ at: instant(at), account: `acct_0123456789abcd${at}`, what: sentence(at), amount: amountOf(at) },
      ...{ requestId: null, why: 'nothing was answered (grace.hopper@example.com)' },
    });
  const moved = { granted: LARGE, spent: LARGE, expired: LARGE, balance: -LARGE };
  const accounts = Array.from({ length: 60 }, (_, at) => ({
    ...{ id: `acct_0123456789abcd${at}`, email: `somebody.with.a.long.name.${at}@example.com`, product: 'gateway' },
    ...moved,
  }));
  const tokens = { input: LARGE, output: LARGE, cacheRead: LARGE, cacheWrite5m: LARGE, cacheWrite1h: LARGE };
  const spent = { spent: LARGE, fromPaid: LARGE, fromGiven: LARGE, owed: LARGE, earned: LARGE };
  const models = MODELS.map((model) => ({ model, lane: 'standard', requests: 1_234_567, tokens, ...spent }));
  const compared = {
    ours: LARGE,
    theirs: LARGE,
    counts: { matched: 9e6, mismatched: 9e6, oursOnly: 9e6, theirsOnly: 9e6 },
  };
  const reconciled = Array.from({ length: 30 }, (_, at) => ({
    ...{
      at: instant(at),
      provider: 'a-provider',
      by: 'request id',
      from: instant(at),
      to: instant(at + 1),
      ...compared,
    },
  }));
  const empty = new MonthBooks('2026-11', new SealCoverage('2026-11')).result();
  return {
    ...{ ...empty, notes, accounts, days: DAYS, models: models as unknown as ModelBook[] },
    reconciled: reconciled as unknown as Books['reconciled'],
  };
}

interface Word {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

interface Sheet {
  readonly width: number;
  readonly height: number;
  readonly words: readonly Word[];
}

/** In points: of an inch there are 72. */
async function printed(page: string): Promise<{ readonly sheets: readonly Sheet[]; readonly pagesInFile: number }> {
  const folder = temporaryFolder();
  const [html, pdf] = [join(folder, 'page.html'), join(folder, 'page.pdf')];
  writeFileSync(html, page);
  const run = promisify(execFile);
  await run('chromium', [
    ...['--headless=new', '--no-sandbox', '--disable-gpu', `--user-data-dir=${temporaryFolder()}`],
    ...['--no-pdf-header-footer', `--print-to-pdf=${pdf}`, `file://${html}`],
  ]);
  const { stdout } = await run('pdftotext', ['-bbox', pdf, '-'], { maxBuffer: 1 << 28 });
  const sheets = [...stdout.matchAll(/<page width="([\d.]+)" height="([\d.]+)">([\s\S]*?)<\/page>/g)].map(
    ([, width, height, words = '']) => ({ width: Number(width), height: Number(height), words: wordsOf(words) }),
  );
  return { sheets, pagesInFile: [...readFileSync(pdf, 'latin1').matchAll(/\/Type \/Page\b/g)].length };
}

const WORD = /<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*?)<\/word>/g;
const wordsOf = (xml: string): Word[] =>
  [...xml.matchAll(WORD)].map(([, left, top, right, bottom, text = '']) => ({
    ...{ left: Number(left), top: Number(top), right: Number(right), bottom: Number(bottom), text },
  }));

const MM = 72 / 25.4;
/** As the page's style has it; a letter's own room may be a little wider than the letter. */
const [SIDE, END, SLACK] = [13 * MM, 15 * MM, 1];
/** A line of a table’s letters, of 8.5 points: lower ones have been made smaller, with all of the page, for what is wider than that. */
const LEAST_HEIGHT = 8.5;

describe.runIf(CAN_PRINT)(`a page on paper${CAN_PRINT ? '' : ' (there is no chromium, or no pdftotext)'}`, () => {
  it.each([
    ['a statement', () => statementPage(statement, OF), ['written', 'down', '(UTC)']],
    ['books', () => bookPage(books(), '2026-12-01T00:00:00.000Z'), ['when', '(UTC)']],
  ] as const)(
    'is A4, with nothing beyond its margins, the table’s heading on each page of it, and no row on two: %s',
    async (_name, page, heading) => {
      const html = page();
      const { sheets, pagesInFile } = await printed(html);
      expect(pagesInFile).toBe(sheets.length);
      expect(sheets.length).toBeGreaterThan(5);
      for (const { width, height } of sheets) expect([width, height].map(Math.round)).toEqual([595, 842]);
      const beyond = sheets.flatMap(({ width, height, words }) =>
        words.filter(
          ({ left, right, top, bottom }) =>
            left < SIDE - SLACK || right > width - SIDE + SLACK || top < END - SLACK || bottom > height - END + SLACK,
        ),
      );
      expect(beyond).toEqual([]);
      // Nor is a column that would be beyond them left out.
      const inAll = sheets.flatMap(({ words }) => words.filter(({ text }) => /^-?9,876,543\.210123$/.test(text)));
      const read = html.replaceAll(/<title>.*?<\/title>|aria-label="[^"]*"/g, '');
      expect(inAll.length).toBe(read.match(/[> -]9,876,543\.210123\b/g)?.length);
      const rows = sheets.map(({ words }) => words.filter(({ text }) => /^begin\d+x$/.test(text)));
      expect(rows.flat().map(({ text }) => text)).toEqual(Array.from({ length: ROWS }, (_, at) => `begin${at}x`));
      expect(Math.min(...rows.flat().map(({ top, bottom }) => bottom - top))).toBeGreaterThan(LEAST_HEIGHT);
      for (const [at, { words }] of sheets.entries()) {
        const [first] = rows[at] ?? [];
        if (first === undefined) continue;
        const above = words.filter(({ bottom }) => bottom < first.top).map(({ text }) => text);
        expect(above.slice(-20), `heading on page ${at + 1}`).toEqual(expect.arrayContaining([...heading]));
        const texts = new Set(words.map(({ text }) => text));
        for (const { text } of rows[at] ?? []) {
          const number = Number(/\d+/.exec(text)?.[0]);
          expect(texts, text).toContain(`end${number}x`);
          expect(texts, text).toContain(groupedUsd(microUsd(amountOf(number))));
        }
      }
    },
  );
});
