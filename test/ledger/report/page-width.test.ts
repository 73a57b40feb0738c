import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { microUsd } from '../../../contracts/money.ts';
import type { MonthStatement } from '../../../ledger/report/month-statement.ts';
import { statementPage } from '../../../ledger/report/statement-page.ts';
import { noSums } from '../../../ledger/statement/open-months.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const hasChromium = spawnSync('chromium', ['--version']).status === 0;
/** Ten million USD, or as many tokens. */
const LARGE = 9_876_543_210_123n;
const MODEL = 'vendor/a-model-with-a-long-name-2026-11-28-preview-thinking-extended-context-1m';
const STATEMENT: MonthStatement = {
  ...{ month: '2026-11', status: 'open', closed: null, openedIn: '2026-11', opening: LARGE, closing: -LARGE },
  sums: { ...noSums(), granted: microUsd(LARGE), debited: microUsd(LARGE) },
  days: Array.from({ length: 30 }, (_, day) => LARGE / BigInt(day + 1)),
  models: Array.from({ length: 14 }, (_, at) => ({ model: `${MODEL}-${at}`, lane: 'fast', debited: LARGE })),
  items: ['input', 'exceptions: left out beyond the hold'].map((item) => ({
    ...{ model: MODEL, lane: 'standard', item, count: LARGE, cost: LARGE * 1_000_001n },
  })),
  ...{ carried: 7n, movementsLeftOut: 1_000_000 },
  movements: [
    { at: '2026-11-28T10:00:00.000Z', revision: 123_456_789, what: 'x'.repeat(500), amount: -LARGE },
    { at: '2026-11-28T10:00:00.000Z', revision: 1, what: 'paid by card, which took two tries', amount: null },
  ],
};
const OF = {
  ...{ accountId: `acct_${'a'.repeat(95)}`, email: `${'e'.repeat(240)}@example.com`, product: 'p'.repeat(60) },
  ...{ madeAt: '2026-11-28T10:00:00.000Z', dueAt: '2026-12-04T00:00:00.000Z' },
};

/** By how many CSS pixels the page is wider than its window, and which of its elements reach out of those that do not scroll. */
async function overflowAt(
  page: string,
  width: number,
): Promise<{ readonly by: number; readonly cut: string[]; readonly out: string[] }> {
  const look = `const { contentDocument: page, contentWindow: view } = document.querySelector('iframe');
const scrolls = (one) => one !== null && (view.getComputedStyle(one).overflowX === 'auto' || scrolls(one.parentElement));
const isCut = (one) => {
  const [label, plot] = [one.getBoundingClientRect(), one.closest('svg').getBoundingClientRect()];
  return label.left < plot.left || label.right > plot.right;
};
const cut = [...page.querySelectorAll('svg text')].filter(isCut).map((one) => one.textContent);
const out = [...page.body.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > ${width} && !scrolls(one));
document.title = JSON.stringify({ by: page.documentElement.scrollWidth - ${width}, cut, out: out.map((one) => one.outerHTML.slice(0, 80)) });`;
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
/** A4 without its margins, 184 mm: the rules of print are those of the screen in it. */
const printed = page.replaceAll('@media print', '@media all').replaceAll('@media screen', '@media print');

describe.runIf(hasChromium)(`a statement in a browser${hasChromium ? '' : ' (there is no chromium)'}`, () => {
  it.each([
    ['on a phone', page, 360],
    ['on a tablet', page, 800],
    ['on A4', printed, 695],
  ])('is no wider than its window, and what is wider scrolls in its own place: %s', async (_, text, width) => {
    expect(await overflowAt(text, width)).toEqual({ by: 0, cut: [], out: [] });
  });
});
