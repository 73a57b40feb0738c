import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { composeFile, composePath } from './compose-file.ts';
import { type Scraped, seriesOf } from './scrape.ts';

export const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool) console.info("skipped: what promtool checks (it is in Debian's package prometheus)");

interface Ended {
  readonly status: number | null;
  readonly said: string;
}

export function promtool(...args: readonly string[]): Ended {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

const { groups }: { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] } = parse(
  composeFile('alerts.yaml'),
);
export const RULES: readonly Rule[] = groups.flatMap(({ rules }) => rules);
export const GROUPS: ReadonlyMap<string, readonly Rule[]> = new Map(groups.map(({ name, rules }) => [name, rules]));

/** Longer than any alert waits, and than any looks back. */
const MINUTES = 40;

interface Asked {
  readonly scraped: readonly Scraped[];
  /** Gauges that go on growing as they did between the two pages. */
  readonly growing?: readonly string[];
  /** Each with what it is to give at the end: samples by their labels. */
  readonly expressions: readonly { readonly expr: string; readonly samples: Readonly<Record<string, number>> }[];
}

/** What `promtool test rules` says of the rules and these expressions, over what was scraped. */
export function tested({ scraped, growing, expressions }: Asked): Ended {
  const file = join(temporaryFolder(), 'test.yaml');
  const promql = expressions.map(({ expr, samples }) => ({
    expr,
    eval_time: `${MINUTES}m`,
    exp_samples: Object.entries(samples).map(([labels, value]) => ({ labels, value })),
  }));
  // Only what is asked for: it takes its time over series.
  const names = new Set(JSON.stringify([RULES, expressions]).match(/\w+/g));
  const isAsked = ({ series }: { readonly series: string }): boolean => names.has(/^\w+/.exec(series)?.[0] ?? '');
  const test = {
    interval: '1m',
    input_series: scraped.flatMap((one) => seriesOf(one, MINUTES, growing)).filter(isAsked),
    promql_expr_test: promql,
  };
  const asked = { rule_files: [composePath('alerts.yaml')], evaluation_interval: '5m', tests: [test] };
  writeFileSync(file, JSON.stringify(asked));
  return promtool('test', 'rules', file);
}
