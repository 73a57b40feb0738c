import { describe, expect, it, vi } from 'vitest';
import { EventLogError } from '../../contracts/event-log.ts';
import { untilLogAnswers } from '../../ledger/until-log-answers.ts';
import { inTurns, passing, turns } from '../fixtures/ledger/turns.ts';

inTurns();

const away = (): Promise<never> => Promise.reject(new EventLogError('unavailable', 'away'));

describe('work that waits for a log that is away', () => {
  it('is done again until the log answers, and the waiting is told once', async () => {
    const onFirst = vi.fn();
    let looks = 0;
    const work = () => (++looks < 5 ? away() : Promise.resolve('an answer'));
    const { signal } = new AbortController();
    expect(await passing(untilLogAnswers(work, { signal, onFirst }))).toBe('an answer');
    expect(onFirst).toHaveBeenCalledOnce();
  });

  it('is done at least every quarter of a second, or as often as is said, and not without a pause', async () => {
    const ending = new AbortController();
    const { signal } = ending;
    const [often, seldom] = [vi.fn(away), vi.fn(away)];
    const both = [untilLogAnswers(often, { signal }), untilLogAnswers(seldom, { signal, pauseMsMax: 2_000 })];
    await turns(5_000);
    // Pauses of half to the whole of their bound; the first are shorter.
    expect(often.mock.calls.length).toBeGreaterThanOrEqual(5_000 / 250);
    expect(often.mock.calls.length).toBeLessThanOrEqual(5_000 / 125 + 3);
    expect(seldom.mock.calls.length).toBeLessThanOrEqual(2 * 4 + 3);
    ending.abort();
    for (const waiting of both) await expect(waiting).rejects.toThrow(/abort/i);
    const looks = often.mock.calls.length;
    await turns(1_000);
    expect(often.mock.calls.length).toBe(looks);
  });

  it('is not done again where that is of no use', async () => {
    const work = vi.fn(() => Promise.reject(new EventLogError('invalid', 'no right to read')));
    const { signal } = new AbortController();
    await expect(untilLogAnswers(work, { signal })).rejects.toThrow(/no right to read/);
    expect(work).toHaveBeenCalledOnce();
  });
});
