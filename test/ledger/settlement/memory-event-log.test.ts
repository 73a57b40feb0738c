import { describe, expect, test } from 'vitest';
import type { EventLogError, ProposedEvent } from '../../../contracts/event-log.ts';
import { accountId, accountStream, eventId, NO_STREAM, revision } from '../../../contracts/ids.ts';
import { MemoryEventLog } from './memory-event-log.ts';

/** That the log of these tests keeps the append table of the port (contracts/event-log.ts). */
const S = accountStream(accountId('s'));
const events = (...ids: readonly string[]): ProposedEvent[] =>
  ids.map((id) => ({ id: eventId(id), type: 'T', data: '{}', metadata: '{}' }));

async function logOf(...ids: readonly string[]): Promise<MemoryEventLog> {
  const log = new MemoryEventLog();
  if (ids.length > 0) await log.append(S, NO_STREAM, events(...ids));
  return log;
}

describe('an append', () => {
  test.each<[string, string[], number, string[], string]>([
    ['at the last revision', ['a'], 0, ['b', 'c'], 'appended 2'],
    ['at no stream', [], -1, ['a'], 'appended 0'],
    ['beyond the last revision', ['a'], 1, ['b'], 'conflict 0'],
    ['beyond no stream', [], 0, ['a'], 'conflict -1'],
    ['again, exactly', ['a', 'b', 'c'], 0, ['b', 'c'], 'appended 2'],
    ['again, a prefix of it', ['a', 'b', 'c'], 0, ['b'], 'appended 1'],
    ['again, with more than there is', ['a', 'b'], 0, ['b', 'c'], 'conflict 1'],
    ['behind, with another id', ['a', 'b'], 0, ['c'], 'conflict 1'],
    ['behind, with another id after the first', ['a', 'b', 'c'], 0, ['b', 'd'], 'conflict 2'],
  ])('%s', async (_what, there, expected, ids, outcome) => {
    const log = await logOf(...there);
    const result = await log.append(S, revision(expected), events(...ids));
    expect(`${result.type} ${result.type === 'appended' ? result.lastRevision : result.actualRevision}`).toBe(outcome);
    const written =
      outcome.startsWith('appended') && expected === there.length - 1 ? there.length + ids.length : there.length;
    expect(log.events).toHaveLength(written);
    if (result.type === 'appended') expect(result.position).toBe(log.events[result.lastRevision]?.position);
  });

  test.each([
    ['refuse', 'unavailable', 1],
    ['drop', 'ambiguous', 1],
    ['lose', 'ambiguous', 2],
    ['reject', 'invalid', 1],
  ] as const)('that is to %s fails as %s', async (type, kind, written) => {
    const log = await logOf('a');
    log.faults = () => ({ type });
    const failure = await log.append(S, revision(0), events('b')).catch((error: EventLogError) => error.kind);
    expect([failure, log.events.length]).toEqual([kind, written]);
  });

  test('of nothing is invalid', async () => {
    await expect((await logOf()).append(S, NO_STREAM, [])).rejects.toMatchObject({ kind: 'invalid' });
  });
});
