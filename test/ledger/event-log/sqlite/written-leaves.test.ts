import { renameSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LeafPage } from '../../../../contracts/event-log.ts';
import { NO_STREAM, position, SEALS_STREAM } from '../../../../contracts/ids.ts';
import { groupCommit } from '../../../../ledger/event-log/sqlite/group-commit.ts';
import { SQLITE_LIMITS } from '../../../../ledger/event-log/sqlite/limits.ts';
import { APPENDED, type AppendGroup } from '../../../../ledger/event-log/sqlite/messages.ts';
import { openForAppends, openForReads } from '../../../../ledger/event-log/sqlite/open-database.ts';
import { readPages } from '../../../../ledger/event-log/sqlite/read-pages.ts';
import { WrittenLeaves } from '../../../../ledger/event-log/sqlite/written-leaves.ts';
import { event, events, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { newPath, openLog, openPlainly } from './log-file.ts';

const TEXT = '{"by":"Zoë 🙂 \u0000","of":""}';

/** A writer's file with its leaves, another process's connection to it, and whoever seals, who asks for the next. */
function scene() {
  const path = newPath();
  const [database, others, reading] = [openForAppends(path, 50), openForAppends(path, 50), openForReads(path, 50)];
  const [commit, otherCommit, read] = [groupCommit(database, 50), groupCommit(others, 50), readPages(reading)];
  const leaves = new WrittenLeaves();
  const heads = new Map<string, number>();
  const groupOf = (stream: string, count: number): AppendGroup => {
    const head = heads.get(stream) ?? NO_STREAM;
    heads.set(stream, head + count);
    return [head, count, stream, ...events(count).flatMap(({ id, type }) => [id, type, TEXT, `{"in":"${stream}"}`])];
  };
  let [after, ordinal, lastWritten] = [0, 0, 0];
  const pageRead = (limit: number, rangeFirst: number): LeafPage => {
    const answer = read({ sequence: 1, query: { type: 'leaves', after, ordinal, rangeFirst, limit } });
    if (answer.type !== 'leaves') throw new Error('leaves are answered with leaves');
    const { type, sequence, ...page } = answer;
    return page;
  };
  return {
    write: (...streams: string[]) => {
      const group = streams.flatMap((stream) => groupOf(stream, 1 + (stream.length % 3)));
      const answer = commit(group);
      leaves.add(group, answer);
      if (answer.type === 'committed') lastWritten = answer.outcomes.at(-1) ?? 0;
    },
    /** What the revisions refuse, and what is a retry. */
    writeNothing: (stream: string) => {
      const group = groupOf(stream, 2);
      commit(group);
      const refused = [...group, 10_000, ...group.slice(1)];
      leaves.add(refused, commit(refused));
    },
    writeByAnother: (stream: string) => otherCommit(groupOf(stream, 1)),
    fail: () => {
      const group = [NO_STREAM, 1, 'new', 'no id', 'x', '{}', '{}'];
      const answer = commit(group);
      expect(answer.type).toBe('failed');
      leaves.add(group, answer);
    },
    /** How many leaves came without a look at the file; each page is compared with that of the file. */
    ask: (limit = 2_048, rangeMost = 0): number => {
      const rangeFirst = Math.min(rangeMost, ordinal);
      const page = leaves.page({ type: 'leaves', after, ordinal, rangeFirst, limit });
      const count = (page?.leaves.length ?? 0) / 32;
      const fromFile = pageRead(page === null ? limit : count, rangeFirst);
      if (page !== null) expect({ ...page, isEnd: fromFile.isEnd }).toEqual(fromFile);
      if (page !== null) expect([count > 0, page.isEnd]).toEqual([true, after + count === lastWritten]);
      const taken = fromFile.leaves.length / 32;
      ordinal += taken;
      after = fromFile.seal?.position ?? after + taken;
      return count;
    },
    close: () => {
      for (const one of [database, others, reading]) one.close();
    },
  };
}

test('whoever asks close behind the head has every leaf without the file, also behind a seal', () => {
  const { write, writeNothing, ask, close } = scene();
  expect(ask()).toBe(0);
  write('a', 'bb', 'a');
  expect(ask(4)).toBe(4);
  write('ccc');
  writeNothing('dd');
  expect(ask(3)).toBe(3);
  // What a retry stood for had come without its leaves.
  expect([ask(), ask(), ask()]).toEqual([1, 0, 0]);
  write('a', SEALS_STREAM, 'bb');
  // A page of the file ends behind each event of the seals.
  expect([ask(), ask(), ask(), ask(), ask()]).toEqual([2, 0, 0, 0, 3]);
  close();
});

test('beside another process that writes, what stands behind it is read from the file, until it is asked for again', () => {
  const { write, writeByAnother, ask, close } = scene();
  ask();
  writeByAnother(SEALS_STREAM);
  write('a');
  // It was numbered as though no seal stood before it.
  expect([ask(), ask()]).toEqual([0, 0]);
  write('a');
  expect(ask()).toBe(2);
  write('a');
  writeByAnother('b');
  write('a');
  expect([ask(), ask()]).toEqual([0, 0]);
  write('a');
  expect(ask()).toBe(2);
  close();
});

test('what was not committed has no leaf', () => {
  const { write, fail, ask, close } = scene();
  ask();
  write('a');
  fail();
  write('a');
  expect(ask()).toBe(4);
  close();
});

test('of any writes and questions in any order a page is that of the file', () => {
  type Step = (at: ReturnType<typeof scene>) => void;
  const stream = fc.constantFrom('a', 'bb', 'ccc', SEALS_STREAM);
  const streams = fc.array(stream, { minLength: 1, maxLength: 6 });
  const question = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.nat({ max: 40 }));
  let known = 0;
  const step = fc.oneof(
    {
      arbitrary: streams.map(
        (of): Step =>
          ({ write }) =>
            write(...of),
      ),
      weight: 5,
    },
    {
      arbitrary: question.map(
        (of): Step =>
          ({ ask }) => {
            known += ask(...of);
          },
      ),
      weight: 5,
    },
    stream.map(
      (of): Step =>
        ({ writeByAnother }) =>
          writeByAnother(of),
    ),
    stream.map(
      (of): Step =>
        ({ writeNothing }) =>
          writeNothing(of),
    ),
    fc.constant<Step>(({ fail }) => fail()),
  );
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
      const at = scene();
      for (const take of steps) take(at);
      at.close();
    }),
    { numRuns: 25 },
  );
  expect(known).toBeGreaterThan(0);
});

test('nothing is kept for whoever is too far behind, or asks no more', () => {
  const { leavesKeptMax } = SQLITE_LIMITS;
  const asked = { type: 'leaves', after: 0, ordinal: 0, rangeFirst: 0, limit: 9 } as const;
  const group: AppendGroup = [NO_STREAM, 1, 'a', '01890a5d-ac96-7abc-bcce-b302099a8057', 'x', '{}', '{}'];
  const countAt = (at: number): number => {
    const leaves = new WrittenLeaves();
    leaves.page(asked);
    leaves.add(group, { type: 'committed', outcomes: [APPENDED, 0, at] });
    return (leaves.page({ ...asked, after: at - 1, ordinal: at - 1 })?.leaves.length ?? 0) / 32;
  };
  expect([countAt(leavesKeptMax), countAt(leavesKeptMax + 1)]).toEqual([1, 0]);
});

test('of an event that is altered in the file at once the leaf is of what was written', async () => {
  const path = newPath();
  const log = await openLog(path);
  const stream = newStream();
  const from = { after: null, ordinal: 0, rangeFirst: 0, limit: 10 };
  expect(await log.readLeaves?.(from)).toMatchObject({ leaves: '', isEnd: true });
  await written(log, stream, NO_STREAM, [event(TEXT), event('{}')]);
  const database = openPlainly(path);
  const before = await log.readLeaves?.(from);
  expect(before).toMatchObject({ firstPosition: position(1), isEnd: true });
  expect(await Promise.all([log.readLeaves?.(from), log.readLeaves?.(from)])).toMatchObject([before, before]);
  database.exec('DROP TRIGGER event_is_never_updated; UPDATE event SET data = \'{"other":1}\' WHERE position = 1');
  expect(await log.readLeaves?.(from)).toEqual(before);
  const query = { type: 'leaves', ...from, after: 0 } as const;
  const inFile = readPages(database)({ sequence: 1, query });
  if (inFile.type !== 'leaves' || before === undefined) throw new Error('leaves are answered with leaves');
  expect([inFile.leaves.slice(0, 32) === before.leaves.slice(0, 32), inFile.leaves.slice(32)]).toEqual([
    false,
    before.leaves.slice(32),
  ]);
  renameSync(path, `${path}.away`);
  await expect(log.readLeaves?.(from)).rejects.toMatchObject({ kind: 'unavailable' });
});
