import Table from 'cli-table3';
import { percentile } from '../bench/load/latencies.ts';
import type { Wait } from './audit/audit-topic.ts';
import type { SoakResult } from './soak-run.ts';

const FAULTS_SHOWN_MAX = 60;

/** A table of what there was, then what is wrong. */
export function soakReport({ audit, sent, kills, operators, messages, quietMs, watch }: SoakResult): string {
  const table = new Table({ style: { head: [], border: [], compact: true } });
  const usages = audit.books.flatMap((own) => own.usages);
  const debited = audit.books.reduce((sum, own) => sum + own.debited, 0n);
  const refused = countsOf(sent.flatMap(({ errorType }) => (errorType === null ? [] : [errorType])));
  table.push(
    ['requests sent', `${sent.length}, ${sent.filter(({ left }) => left).length} whose client left`],
    ['seen by the upstream', audit.seen],
    ['answered with an error', refused],
    ['recorded', countsOf(usages.map(({ outcome }) => outcome))],
    ['debited', `${audit.books.reduce((sum, own) => sum + own.debits.length, 0)} debits, ${debited} micro-USD`],
    ['gone with a lost machine', `${audit.gone} requests`],
    ['trouble', kills.summary],
    [
      'operators',
      `${operators.grants} grants, ${operators.limits.length} limits moved, ${operators.issuedMs.size} keys, ${operators.revoked.length} revoked, ${operators.triedAgain} tried again while the log was away`,
    ],
    ['cases', countsOf(sent.map(({ planned }) => planned.case))],
    [
      '/me',
      `${watch.looks} looks, never below ${[...watch.lowest.values()].sort(ascending)[0] ?? 'anything'} micro-USD`,
    ],
    ['events in the log', `${audit.events}, ${audit.leases} leases`],
    ['messages on the topic', `${messages}, ${audit.topic.duplicates} duplicates`],
    ['lag of the topic', lagText(audit.topic.waits)],
    ['quiet time', `${(quietMs / 1000).toFixed(1)} s until all was settled, published and seen everywhere`],
  );
  const { faults } = audit;
  if (faults.length === 0)
    return `${table.toString()}\nledger, upstream's record, every proxy's views and the topic agree; nobody has overspent\n`;
  const shown = faults.slice(0, FAULTS_SHOWN_MAX).map((fault) => `  ${fault}`);
  const more = faults.length > FAULTS_SHOWN_MAX ? [`  and ${faults.length - FAULTS_SHOWN_MAX} more`] : [];
  return [table.toString(), `${faults.length} violations:`, ...shown, ...more, ''].join('\n');
}

const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);

function lagText(waits: readonly Wait[]): string {
  const sorted = waits.map(({ fromMs, untilMs }) => untilMs - fromMs).sort((a, b) => a - b);
  const seconds = (share: number) => `${(percentile(sorted, share) / 1000).toFixed(2)} s`;
  return `p50 ${seconds(0.5)}, p99 ${seconds(0.99)}, longest ${seconds(1)} (a killed relay keeps the other waiting)`;
}

function countsOf(names: readonly string[]): string {
  const counts = [...Map.groupBy(names, (name) => name)].map(([name, same]) => `${same.length} ${name}`);
  return counts.length === 0 ? 'none' : counts.join(', ');
}
