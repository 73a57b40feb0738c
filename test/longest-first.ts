import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The files that take longest, the longest first: begun last, one of them would run alone at the end. A fresh clone knows
 * no times of its own.
 */
export const LONGEST: readonly string[] = [
  'test/soak/soak.test.ts',
  'test/ledger-loss/ledger-loss.test.ts',
  'test/ledger/relay/relay.test.ts',
  'test/crash/crash-eventstoredb.test.ts',
  'test/crash/crash.test.ts',
  'test/fleet/processes.test.ts',
  'test/ledger/feed/open-feed.test.ts',
  'test/commands/command-line.test.ts',
  'test/ledger/feed/consume-feed.test.ts',
  'test/proxy/admission/credit-fleet.test.ts',
  'test/ledger/relay/event-publication.test.ts',
  'test/projections/views-from-kafka.test.ts',
  'test/ledger/event-log/eventstoredb/appends.test.ts',
  'test/outage/outage.test.ts',
  'test/ledger/event-log/eventstoredb/contract.test.ts',
  'test/attacks/attacks.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const sorted = await super.sort(files);
    const rankOf = ({ moduleId, project }: TestSpecification): number =>
      rank(relative(root, moduleId), project.config.isolate);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

/**
 * The place of a file among the longest. All others have one place behind these: first those that run apart, then those that
 * share processes, for a process goes on to the next file only where that follows at once.
 */
export function rank(file: string, isApart: boolean): number {
  const place = LONGEST.indexOf(file);
  if (place !== -1) return place;
  return LONGEST.length + (isApart ? 0 : 1);
}
