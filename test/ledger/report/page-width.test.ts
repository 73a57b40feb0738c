import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { microUsd } from '../../../contracts/money.ts';
import { MonthBooks } from '../../../ledger/report/month-books.ts';
import type { MonthStatement } from '../../../ledger/report/month-statement.ts';
import { Notes } from '../../../ledger/report/notes.ts';
import { bookPage } from '../../../ledger/report/page.ts';
import { SealCoverage } from '../../../ledger/report/seal-coverage.ts';
import { statementPage } from '../../../ledger/report/statement-page.ts';
import { noSums } from '../../../ledger/statement/open-months.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const hasChromium = spawnSync('chromium', ['--version']).status === 0;
/** Ten million USD, or as many tokens. */
const LARGE = 9_876_543_210_123n;
const MODEL = 'vendor/a-model-with-a-long-name-2026-11-28-preview-thinking-extended-context-1m';
const STATEMENT: MonthStatement = {
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
  days: Array.from({ length: 30 }, (_, day) => LARGE / BigInt(day + 1)),
  models: Array.from({ length: 14 }, (_, at) => ({ model: `${MODEL}-${at}`, lane: 'fast', debited: LARGE })),
  items: ['input', 'exceptions: left out beyond the hold'].map((item) => ({
    ...{ model: MODEL, lane: 'standard', item, count: LARGE, cost: LARGE * 1_000_001n },
  })),
  ...{ carried: 7n, movementsLeftOut: 1_000_000, withPayments: true },
  movements: [
    { at: '2026-11-28T10:00:00.000Z', revision: 123_456_789, what: 'x'.repeat(500), figure: 'debited', amount: -LARGE },
    {
      at: '2026-11-28T10:00:00.000Z',
      revision: 1,
      what: 'paid by card (purchase_72d061bf54a73e78)',
      figure: null,
      amount: null,
    },
  ],
};
const OF = {
  ...{ accountId: `acct_${'a'.repeat(95)}`, email: `${'e'.repeat(240)}@example.com`, product: 'p'.repeat(60) },
  ...{ madeAt: '2026-11-28T10:00:00.000Z', dueAt: '2026-12-04T00:00:00.000Z' },
};

const notes = new Notes();
notes.add({
  ...{ at: '2026-11-28T10:00:00.000Z', account: 'acct_0123456789abcdef', what: 'debit reversed', amount: 696n },
  ...{ requestId: 'req_01a225a5cd377bffba68259375ba0950', why: 'nothing was answered (grace.hopper@example.com)' },
});

/**
 * By how many CSS pixels the page is wider than its window, which of its elements reach out of those that do not scroll, and which
 * words of sentences are broken, and ids of our own making in them (36 characters at the most, no hyphen).
 */
async function overflowAt(
  page: string,
  width: number,
): Promise<{ readonly by: number; readonly cut: string[]; readonly out: string[]; readonly broken: string[] }> {
  const look = `const { contentDocument: page, contentWindow: view } = document.querySelector('iframe');
const scrolls = (one) => one !== null && (view.getComputedStyle(one).overflowX === 'auto' || scrolls(one.parentElement));
const isCut = (one) => {
  const [label, plot] = [one.getBoundingClientRect(), one.closest('svg').getBoundingClientRect()];
  return label.left < plot.left || label.right > plot.right;
};
const cut = [...page.querySelectorAll('svg text')].filter(isCut).map((one) => one.textContent);
const out = [...page.body.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > ${width} && !scrolls(one));
const broken = [...page.querySelectorAll('td.t, td.t code')].flatMap((cell) => [...cell.childNodes]).flatMap((node) =>
  [...(node.data ?? '').matchAll(/[^\\s-]+/g)].filter(({ 0: word, index }) => {
    const range = page.createRange();
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    return word.length <= 36 && new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
  }).map(([word]) => word));
document.title = JSON.stringify({ broken, by: page.documentElement.scrollWidth - ${width}, cut, out: out.map((one) => one.outerHTML.slice(0, 80)) });`;
  const framed = page.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const file = join(temporaryFolder(), 'framed.html');
  writeFileSync(
    file,
    `<!doctype html><title></title><iframe style="border:0;width:${width}px;height:800px" srcdoc="${framed}"></iframe>
<script>onload = () => { ${look} }</script>`,
  );
  const args = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--hide-scrollbars',
    `--user-data-dir=${temporaryFolder()}`,
  ];
  const { stdout } = await promisify(execFile)('chromium', [...args, '--dump-dom', `file://${file}`]);
  const said = /<title>(.*?)<\/title>/.exec(stdout)?.[1] ?? '';
  return JSON.parse(said.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'));
}

const page = statementPage(STATEMENT, OF);
const books = bookPage(
  { ...new MonthBooks('2026-11', new SealCoverage('2026-11')).result(), notes },
  '2026-12-01T00:00:00.000Z',
);
/** A4 without its margins, 184 mm: the rules of print are those of the screen in it. */
const printed = page.replaceAll('@media print', '@media all').replaceAll('@media screen', '@media print');

describe.runIf(hasChromium)(`a page in a browser${hasChromium ? '' : ' (there is no chromium)'}`, () => {
  it.each([
    ['a statement on a phone', page, 360],
    ['a statement on a tablet', page, 800],
    ['a statement on A4', printed, 695],
    ['books on a phone', books, 360],
    ['books on a screen', books, 1_000],
  ])(
    'is no wider than its window, what is wider scrolls in its own place, and no word is broken: %s',
    async (_, text, width) => {
      const { broken, ...room } = await overflowAt(text, width);
      expect(room).toEqual({ by: 0, cut: [], out: [] });
      // Paper does not scroll.
      if (text !== printed) expect(broken).toEqual([]);
    },
  );
});
