import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventLog, ProposedEvent } from '../../../../contracts/event-log.ts';
import type { StreamName } from '../../../../contracts/ids.ts';
import { at, collect, events, idsOf, type LogsUnderTest, newStream } from '../../../fixtures/ledger/shared-log.ts';

interface Attempt {
  readonly expected: number;
  readonly proposed: readonly ProposedEvent[];
}

/** What the append table says, over a plain list of ids. */
function modelAnswer(ids: readonly string[], { expected, proposed }: Attempt): number | 'conflict' {
  const last = ids.length - 1;
  if (expected === last) return expected + proposed.length;
  if (expected > last) return 'conflict';
  const there = ids.slice(expected + 1, expected + 1 + proposed.length);
  const isRetry = there.length === proposed.length && proposed.every(({ id }, index) => id === there[index]);
  return isRetry ? expected + proposed.length : 'conflict';
}

const commands = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ type: fc.constant('next' as const), count: fc.integer({ min: 1, max: 4 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant('anywhere' as const), expected: fc.integer({ min: -1, max: 12 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant('again' as const),
        which: fc.nat(),
        kept: fc.integer({ min: 1, max: 4 }),
        added: fc.integer({ min: 0, max: 1 }),
      }),
    },
  ),
  { minLength: 1, maxLength: 14 },
);

type Command = (typeof commands extends fc.Arbitrary<infer Commands> ? Commands : never) extends (infer One)[]
  ? One
  : never;

/** Random appends, misplaced appends and retries (exact, shortened, lengthened), through two handles. */
export function describeAppendModel(logs: LogsUnderTest): void {
  describe('append', () => {
    it('answers every series of appends and retries as the append table says', async () => {
      await fc.assert(
        fc.asyncProperty(commands, fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }), async (list, turns) => {
          const ids = await play(list, (index) => (turns[index] ? logs.log : logs.other));
          expect(ids.recorded).toEqual(ids.model);
        }),
        { numRuns: 40 },
      );
    });
  });
}

async function play(list: readonly Command[], handle: (index: number) => EventLog): Promise<Record<string, string[]>> {
  const stream = newStream();
  const ids: string[] = [];
  const attempts: Attempt[] = [];
  for (const [index, command] of list.entries()) {
    const attempt = attemptOf(command, ids.length - 1, attempts);
    const expected = modelAnswer(ids, attempt);
    expect(await answerOf(handle(index), stream, attempt)).toBe(expected);
    if (attempt.expected === ids.length - 1) ids.push(...idsOf(attempt.proposed));
    attempts.push(attempt);
  }
  return { model: ids, recorded: idsOf(await collect(handle(0).readStream(stream))) };
}

function attemptOf(command: Command, last: number, attempts: readonly Attempt[]): Attempt {
  if (command.type === 'next') return { expected: last, proposed: events(command.count) };
  if (command.type === 'anywhere') return { expected: command.expected, proposed: events(1) };
  const earlier = attempts[command.which % Math.max(1, attempts.length)];
  if (earlier === undefined) return { expected: last, proposed: events(1) };
  return {
    expected: earlier.expected,
    proposed: [...earlier.proposed.slice(0, command.kept), ...events(command.added)],
  };
}

async function answerOf(log: EventLog, stream: StreamName, attempt: Attempt): Promise<number | 'conflict'> {
  const result = await log.append(stream, at(attempt.expected), attempt.proposed);
  return result.type === 'appended' ? result.lastRevision : 'conflict';
}
