import { createHash } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { NO_TOKENS } from '../../../contracts/usage.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { CARD, opened } from '../../fixtures/ledger/example-account.ts';
import { compared, logOf, used } from './compared-report.ts';

const DAY = '2026-11-05';
const unbilled = (output: number) =>
  used(DAY, { tokens: { output }, outcome: 'upstream_interrupted', billable: false });

/** What a crash has left of a request, and its usage, which came late. */
function lostAndFound(output: number): readonly [lost: AccountEvent[], found: AccountEvent[]] {
  const lost = used(DAY, { outcome: 'recovered', source: 'estimated', billable: false });
  const events = recordUsage(fold([opened]) as never, lost, CARD);
  const usage = { ...lost, outcome: 'completed', source: 'reported', billable: true } as const;
  const reported = decide(
    { type: 'ReportLateUsage', usage: { ...usage, tokens: { ...NO_TOKENS, output } }, card: CARD },
    fold([opened, ...events]),
  );
  if ('type' in reported) throw new Error('refused');
  return [[...events], [...reported]];
}

it('is also what nobody was charged for, whatever comes behind it: a usage, one that came late, the log’s end', async () => {
  const [lost, found] = lostAndFound(4);
  const events = logOf([...lost, unbilled(1), unbilled(2), ...found, unbilled(8)]);
  const result = await compared(`date,model,output_tokens\n${DAY},opal,15\n`, events);
  expect(result).toMatchObject({
    counts: { matched: 1, mismatched: 0, oursOnly: 0, theirsOnly: 0 },
    lines: [{ tokenClass: 'output', ours: 15n, oursAmount: 4_000_000n }, { tokenClass: 'all' }],
  });
});

it('is what lies in the time that is asked for, from its first instant to before its last, on both sides', async () => {
  const rows = [`2026-11-04,opal,1`, `${DAY},opal,2`, `2026-11-06,opal,4`];
  const events = logOf(['2026-11-04', DAY, '2026-11-06'].map((day, at) => used(day, { tokens: { output: 2 ** at } })));
  const result = await compared(`date,model,output_tokens\n${rows.join('\n')}`, events, {
    from: DAY,
    to: '2026-11-06',
  });
  expect(result).toMatchObject({
    report: { rows: 3, outside: 2 },
    counts: { matched: 1, mismatched: 0, oursOnly: 0, theirsOnly: 0 },
    lines: [{ tokenClass: 'output', ours: 2n, theirs: 2n }, {}],
  });
  await expect(compared('date,output_tokens\n2026-11-05,1\n', events, { from: '2026-11-07' })).rejects.toThrow(
    'ends before it begins',
  );
});

it('is also a request that began beside that time, where the report names it', async () => {
  const events = logOf([used('2026-11-04', { id: 'r1', tokens: { output: 3 } }), used('2026-11-04', { id: 'r2' })]);
  const report = `request_id,date,model,output_tokens\nr1,${DAY},opal,3\n`;
  expect((await compared(report, events)).counts).toEqual({ matched: 1, mismatched: 0, oursOnly: 0, theirsOnly: 0 });
});

it('is ours of either lane where a report says of its rows no more than whether they are of a batch', async () => {
  const events = logOf([used(DAY, { tokens: { output: 1 } }), used(DAY, { tokens: { output: 2 }, lane: 'fast' })]);
  const report = `date,model,batch,output_tokens\n${DAY},opal,false,3\n${DAY},opal,true,5\n`;
  expect(await compared(report, events)).toMatchObject({
    counts: { matched: 1, mismatched: 0, oursOnly: 0, theirsOnly: 1 },
    differences: [{ kind: 'theirs only', tier: 'batch' }],
  });
});

it('has instants without an offset as those of UTC, wherever it is made', async () => {
  const here = process.env.TZ;
  onTestFinished(() => {
    if (here === undefined) delete process.env.TZ;
    else process.env.TZ = here;
  });
  process.env.TZ = 'Pacific/Auckland';
  expect(new Date(`${DAY}T12:00:00`).getUTCHours()).toBe(23);
  const report = `date,model,output_tokens\n${DAY} 12:00:00,opal,3\n${DAY}T12:00:00+0000,opal,4\n`;
  const { counts } = await compared(report, logOf([used(DAY, { tokens: { output: 7 } })]));
  expect(counts).toEqual({ matched: 1, mismatched: 0, oursOnly: 0, theirsOnly: 0 });
});

it('is said of the very bytes of the report', async () => {
  const report = `\ufeffdate,model,output_tokens\n${DAY},opal,3\n`;
  const sha256 = createHash('sha256').update(report).digest('hex');
  expect((await compared(report, [])).report.sha256).toBe(sha256);
});
