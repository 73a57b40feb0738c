import Table from 'cli-table3';
import type { Wait } from './audit/audit-topic.ts';
import { CLAIM_SECONDS } from './soak-fleet.ts';
import type { SoakResult } from './soak-run.ts';
import type { StormName } from './troubles.ts';

/** A figure of a storm, and whether it is what was promised. */
interface StormCell {
  readonly name: string;
  readonly value: string;
  readonly isRight: boolean;
}

/** What of a soak its storm is judged by. */
export type StormEvidence = Pick<SoakResult, 'sent' | 'proxies' | 'answers'> & {
  readonly kills: Pick<SoakResult['kills'], 'relaysMs'>;
  readonly audit: Pick<SoakResult['audit'], 'seen' | 'billed' | 'topic' | 'gone' | 'events' | 'books'>;
};

/** In the order in which they are printed. */
export function stormCells(name: StormName, evidence: StormEvidence): StormCell[] {
  const { sent, audit, kills } = evidence;
  const accounts = audit.books.length;
  const equal = equalAccounts(evidence);
  const me = {
    name: '/me equal on all proxies',
    value: `${equal} of ${accounts} accounts`,
    isRight: equal === accounts,
  };
  if (name === 'kafka') {
    const { lost, outOfOrder, duplicates, waits } = audit.topic;
    const worstMs = waits.reduce((most, { fromMs, untilMs }) => Math.max(most, untilMs - fromMs), 0);
    const isInTime = waits.length > 0 && waits.every((wait) => isLagPromised(wait, kills.relaysMs));
    return [
      some('requests sent', sent.length),
      some('events in the ledger', audit.events),
      none('lost', lost),
      none('out of order', outOfOrder),
      // At least once is what the feed promises.
      { name: 'duplicated', value: String(duplicates), isRight: true },
      { name: 'worst lag', value: `${(worstMs / 1_000).toFixed(1)} s`, isRight: isInTime },
      me,
    ];
  }
  const { once, lost, twice } = audit.billed;
  return [
    some('requests sent', sent.length),
    some('reached the upstream', audit.seen),
    { name: 'billed exactly once', value: String(once), isRight: once === audit.seen - audit.gone },
    none('lost', lost - audit.gone),
    none('twice', twice),
    me,
  ];
}

export function stormTable(cells: readonly StormCell[]): string {
  const table = new Table({ style: { head: [], border: [], compact: true } });
  table.push(...cells.map(({ name, value }) => [name, value]));
  const wrong = cells.find(({ isRight }) => !isRight);
  const verdict = wrong === undefined ? 'every cell as promised' : `WRONG: ${wrong.name}: ${wrong.value}`;
  return `${table.toString()}\n${verdict}\n`;
}

const some = (name: string, count: number): StormCell => ({ name, value: String(count), isRight: count > 0 });
const none = (name: string, count: number): StormCell => ({ name, value: String(count), isRight: count === 0 });

/**
 * A broker's absence, a pause of whoever is paused and a leader's change fit in it several times over, also where the
 * machine is busy: with one of three brokers away for a minute, the first seed among them, a topic must not wait for it.
 */
const LAG_MS_MAX = 30_000;
/** A relay that was killed keeps the other waiting until its claim is over, and for a sixth of it, by which clocks may differ. */
const CLAIM_MS = (CLAIM_SECONDS * 1_000 * 7) / 6;

/** What a killed relay's claim takes is promised, too. */
function isLagPromised({ fromMs, untilMs }: Wait, relaysKilledMs: readonly number[]): boolean {
  const claims = relaysKilledMs.filter((atMs) => atMs > fromMs - CLAIM_MS && atMs < untilMs).length;
  return untilMs - fromMs <= LAG_MS_MAX + claims * CLAIM_MS;
}

/** Those whom every proxy told the same in the end. */
function equalAccounts({ answers, audit, proxies }: StormEvidence): number {
  const byAccount = Map.groupBy(answers, ({ key }) => key.accountId);
  return audit.books.filter(({ accountId }) => {
    const told = byAccount.get(accountId) ?? [];
    return told.length === proxies && new Set(told.map(({ me }) => JSON.stringify(me))).size === 1;
  }).length;
}
