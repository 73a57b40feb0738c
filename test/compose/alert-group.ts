import { expect, type TestContext } from 'vitest';
import { GROUPS, tested } from './promtool.ts';
import type { Scraped } from './scrape.ts';

/** A group of the compose file's alerts, each of which fires in the test file that makes this of it. */
export class AlertGroup {
  readonly #alerts: readonly string[];
  readonly #fired = new Set<string>();

  constructor(name: string) {
    this.#alerts = (GROUPS.get(name) ?? []).map(({ alert }) => alert);
  }

  /** Those that fire over what was scraped, for good, are these, and no other. @param growing as `tested` takes it */
  expectFiring(alerts: readonly string[], scraped: readonly Scraped[], growing: readonly string[] = []): void {
    const expr = `group by (alertname) (ALERTS{alertstate="firing",alertname=~"${this.#alerts.join('|')}"})`;
    const samples = Object.fromEntries(alerts.map((alert) => [`{alertname="${alert}"}`, 1]));
    const { status, said } = tested({ scraped, growing, expressions: [{ expr, samples }] });
    for (const alert of alerts) this.#fired.add(alert);
    // promtool says what it got instead.
    if (status !== 0) expect.fail(said);
  }

  /** Those that have not fired in any case of the suite before this one, which is skipped where not all of those are run. */
  silentIn({ task, skip }: Pick<TestContext, 'task' | 'skip'>): readonly string[] {
    skip(isInPart(task), 'not all of the others are run');
    return this.#alerts.filter((alert) => !this.#fired.has(alert));
  }
}

/** Whether cases of a suite are left out, as by `-t`: what all of them do together cannot be told by the others. */
const isInPart = ({ suite }: TestContext['task']): boolean =>
  suite?.tasks.some(({ result }) => result === undefined) ?? false;
