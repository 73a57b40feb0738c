import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { accountStream, type RequestId } from '../../../contracts/ids.ts';
import type { RecoveredRequest } from '../../../ledger/journal/journal.ts';
import { reconcileRecovered } from '../../../ledger/settlement/recover-requests.ts';
import { CARD, usageOf } from '../../fixtures/ledger/example-account.ts';
import { finishedText } from '../../fixtures/ledger/journal-texts.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { PlainLedger } from '../../fixtures/ledger/plain-ledger.ts';
import {
  account,
  billed,
  bookEqualsLog,
  eventsOf,
  foldInto,
  foreignGrant,
  promptScene,
  type SettlementScene,
  submit,
} from '../../fixtures/ledger/settlement-scene.ts';
import { inTurns, passing, turns } from '../../fixtures/ledger/turns.ts';

inTurns();

const ACCOUNTS = 3;
const faults = fc.array(fc.constantFrom('none', 'refuse', 'lose', 'drop', 'precede'), { maxLength: 40, size: 'max' });
const submissions = fc.array(
  fc.record({
    of: fc.nat({ max: ACCOUNTS - 1 }),
    output: fc.nat({ max: 5 }),
    input: fc.nat({ max: 90_000 }),
    billable: fc.constantFrom(true, true, true, false),
    turnsBefore: fc.nat({ max: 12 }),
  }),
  { maxLength: 30, size: 'max' },
);
type Submission = typeof submissions extends fc.Arbitrary<readonly (infer S)[]> ? S : never;
const story = fc.record({ submissions, faults, isSubscribed: fc.boolean() });

/** The journal as settlement's caller keeps it: finished requests that nobody has said to be settled. */
type PlainJournal = Map<RequestId, RecoveredRequest>;

let foreign = 0;
function goWrong(log: MemoryEventLog, kinds: readonly ('none' | 'refuse' | 'lose' | 'drop' | 'precede')[]): void {
  const left = [...kinds];
  log.faults = () => {
    const kind = left.shift() ?? 'none';
    return kind === 'precede' ? { type: kind, events: foreignGrant(++foreign) } : { type: kind };
  };
}

const usageOfNumber = (number: number, { output, input, billable }: Submission) =>
  usageOf(number, 0, { billable, tokens: { input, output, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 } });

/** Submits one after another; what is settled leaves the journal at once. */
async function run(scene: SettlementScene, all: readonly Submission[], journal: PlainJournal, from = 0): Promise<void> {
  for (const [index, submission] of all.entries()) {
    const usage = usageOfNumber(from + index, submission);
    const of = account(submission.of);
    const finished = finishedText(of, scene.repository.read(of).revision, usage);
    await turns(submission.turnsBefore);
    journal.set(usage.requestId, { requestId: usage.requestId, start: null, finished });
    submit(scene, of, usage);
  }
}

function subscribe({ log, repository }: SettlementScene) {
  return log.subscribeAll({
    after: null,
    onEvents: (events) => {
      for (const recorded of events) foldInto(repository, recorded);
    },
  });
}

/** Exactly one usage for each request, one debit where it costs anything, and every amount as recomputed. */
function expectBilledOnce(scene: SettlementScene, all: readonly Submission[]): void {
  const expected = all.map((submission, number) => {
    const usage = usageOfNumber(number, submission);
    const costs = submission.billable && submission.input + submission.output > 0;
    return [usage.requestId, costs ? '1/1' : '1/0'] as const;
  });
  expect([...billed(scene)].sort()).toEqual(expected.sort());
  for (let number = 0; number < ACCOUNTS; number++) {
    const plain = new PlainLedger({ input: CARD.rates.input, output: CARD.rates.output, hasFast: true });
    for (const event of eventsOf(scene, account(number))) plain.take(event);
  }
}

describe('under any faults of the log', () => {
  test('invariants 2 and 8: each request is billed exactly once, and told as settled exactly once', async () => {
    await fc.assert(
      fc.asyncProperty(story, async ({ submissions: all, faults: kinds, isSubscribed }) => {
        const scene = await promptScene(ACCOUNTS);
        const subscription = isSubscribed ? subscribe(scene) : null;
        goWrong(scene.log, kinds);
        await run(scene, all, new Map());
        await passing(scene.settlement.idle());
        await subscription?.close();
        expectBilledOnce(scene, all);
        expect(scene.settled.toSorted()).toEqual(all.map((one, index) => usageOfNumber(index, one).requestId).sort());
        expect(scene.stuck).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  test('invariants 2 and 8: each request is billed exactly once over any number of crashes', async () => {
    let carried = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(story, { minLength: 1, maxLength: 3 }), fc.boolean(), async (stories, isForgetful) => {
        const log = new MemoryEventLog();
        const journal: PlainJournal = new Map();
        const all: Submission[] = [];
        let scene = await promptScene(ACCOUNTS, log);
        for (const { submissions: more, faults: kinds } of stories) {
          goWrong(log, kinds);
          await recover(scene, journal);
          await run(scene, more, journal, all.length);
          all.push(...more);
          // The crash: what was told as settled may or may not have reached the journal.
          scene.settlement.close();
          if (!isForgetful) for (const requestId of scene.settled) journal.delete(requestId);
          await turns();
          carried += journal.size;
          scene = await promptScene(ACCOUNTS, log);
        }
        log.faults = () => ({ type: 'none' });
        await recover(scene, journal);
        await passing(scene.settlement.idle());
        expectBilledOnce(scene, all);
        for (let number = 0; number < ACCOUNTS; number++)
          expect(await bookEqualsLog(scene, account(number))).toBe(true);
      }),
      { numRuns: 40 },
    );
    expect(carried).toBeGreaterThan(0);
  });

  test('the order of revisions in each account has no gap', async () => {
    await fc.assert(
      fc.asyncProperty(story, async ({ submissions: all, faults: kinds }) => {
        const scene = await promptScene(ACCOUNTS);
        goWrong(scene.log, kinds);
        await run(scene, all, new Map());
        await passing(scene.settlement.idle());
        for (let number = 0; number < ACCOUNTS; number++) {
          const stream = scene.log.events.filter((event) => event.stream === accountStream(account(number)));
          expect(stream.map(({ revision }) => revision)).toEqual(stream.map((_, index) => index));
        }
      }),
      { numRuns: 10 },
    );
  });
});

async function recover(scene: SettlementScene, journal: PlainJournal): Promise<void> {
  const { unsettled, recorded } = await passing(reconcileRecovered(scene.log, [...journal.values()], 0));
  for (const requestId of recorded) journal.delete(requestId);
  for (const { accountId, usage } of unsettled) submit(scene, accountId, usage);
}
