import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { accountStream, type RequestId, revision } from '../../../contracts/ids.ts';
import { refillJournal } from '../../../ledger/backup/refill-journal.ts';
import { readJournal } from '../../../ledger/journal/recovery.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { opened, requestOf, usageOf } from '../../fixtures/ledger/example-account.ts';
import { journalFolder, openedJournal } from '../../fixtures/ledger/journal-folder.ts';
import { finishedText, startText } from '../../fixtures/ledger/journal-texts.ts';
import { account, recordedElsewhere, settlementScene } from '../../fixtures/ledger/settlement-scene.ts';

const [A, B] = [account(0), account(1)];
const NOW = Date.parse('2026-11-07T00:00:00.000Z');
/** What the stream had when they began: none of it is in a ledger of before. */
const KNOWN = revision(900);

interface Written {
  readonly number: number;
  readonly of?: typeof A;
  readonly end?: 'none' | 'ended' | 'settled' | 'settled without an end';
  /** Of the end, by which one of two is known. */
  readonly output?: number;
}

const start = ({ number, of = A }: Written): string => startText(of, KNOWN, usageOf(number, 3));
const finished = ({ number, of = A, output = 3 }: Written): string => finishedText(of, KNOWN, usageOf(number, output));

async function journalOf(...all: readonly Written[]): Promise<string> {
  const directory = journalFolder();
  const { journal } = await openedJournal({ directory });
  const settled: RequestId[] = [];
  for (const one of all) {
    const [id, { end = 'ended' }] = [requestOf(one.number), one];
    journal.begin(id, start(one));
    if (end === 'ended' || end === 'settled') journal.finish(id, finished(one));
    if (end.startsWith('settled')) settled.push(id);
  }
  await journal.durable();
  journal.settle(settled);
  await journal.close();
  return directory;
}

/** What the target has at the end, by each request's end; null where it has none. */
async function refilled(from: readonly string[], to: string, { recorded = [] as readonly number[] } = {}) {
  const scene = await settlementScene(1);
  for (const number of recorded) recordedElsewhere(scene, A, usageOf(number, 3));
  // Of B nothing can be told: an event of it cannot be read.
  const unreadable = { ...encodeEvents([opened], recordingBy('test', NOW))[0], type: 'UsageRecorded' } as never;
  scene.log.write(accountStream(B), [unreadable]);
  const added = await refillJournal({ from, to, bytesMax: 1e9, log: scene.log, nowMs: NOW });
  const has = readJournal(to).recovered.map((one) => [one.requestId, one.finished] as const);
  return { added, has: Object.fromEntries(has) };
}
const has = (...all: readonly Written[]) =>
  Object.fromEntries(all.map((one) => [requestOf(one.number), one.end === 'none' ? null : finished(one)]));

describe('what the ledger lacks of other journals comes into its own', () => {
  it('with or without its end, also where it was settled in a ledger of later, and nothing that the ledger has', async () => {
    const from = await journalOf(
      ...[{ number: 1 }, { number: 2, end: 'none' } as const, { number: 3, end: 'settled' } as const],
      ...[{ number: 4 }, { number: 5, end: 'settled without an end' } as const],
    );
    expect(await refilled([from], journalFolder(), { recorded: [4] })).toEqual({
      added: 3,
      has: has({ number: 1 }, { number: 2, end: 'none' }, { number: 3 }),
    });
  });

  it('by the journal that has its end, whichever is named first, and once', async () => {
    const [begun, ended] = [await journalOf({ number: 1, end: 'none' }), await journalOf({ number: 1 })];
    for (const from of [
      [begun, ended],
      [ended, begun],
      [ended, await journalOf({ number: 1, output: 7 })],
    ])
      expect(await refilled(from, journalFolder())).toEqual({ added: 1, has: has({ number: 1 }) });
  });

  it('also of accounts of which nothing can be told', async () => {
    const from = await journalOf({ number: 1, of: B }, { number: 2 });
    expect(await refilled([from], journalFolder(), { recorded: [2] })).toEqual({
      added: 1,
      has: has({ number: 1, of: B }),
    });
  });

  it('beside what that has by itself: an end that it lacks is added, and nothing is twice, or taken back', async () => {
    const to = await journalOf({ number: 1, end: 'none' }, { number: 2, output: 7 }, { number: 3, end: 'none' });
    const from = await journalOf({ number: 1 }, { number: 2 }, { number: 3, end: 'none' });
    const all = has({ number: 1 }, { number: 2, output: 7 }, { number: 3, end: 'none' });
    expect(await refilled([from], to)).toEqual({ added: 1, has: all });
    expect(await refilled([from], to)).toEqual({ added: 0, has: all });
  });
});
