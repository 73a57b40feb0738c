import { describe, expect, it } from 'vitest';
import { groupCommit } from '../../../../ledger/event-log/sqlite/group-commit.ts';
import {
  APPENDED,
  type AppendedGroup,
  type AppendGroup,
  CONFLICT,
} from '../../../../ledger/event-log/sqlite/messages.ts';
import { openForAppends } from '../../../../ledger/event-log/sqlite/open-database.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';
import { events } from '../../../fixtures/ledger/shared-log.ts';
import { newPath, openPlainly } from './log-file.ts';

function append(expected: number, stream: string, count: number, bytes = 10): AppendGroup {
  const fields = events(count).flatMap(({ id, type, metadata }) => [id, type, 'x'.repeat(bytes), metadata]);
  return [expected, count, stream, ...fields];
}

function open(path: string, busyMs = 50) {
  const database = endedLater(openForAppends(path, busyMs));
  return { database, commit: groupCommit(database, busyMs) };
}

const outcomes = (answer: AppendedGroup): readonly number[] | null =>
  answer.type === 'committed' ? answer.outcomes : null;

describe('a group commit', () => {
  it('decides each append by itself, in order, later ones upon earlier ones', () => {
    const { commit } = open(newPath());
    const group = [...append(-1, 'a', 2), ...append(-1, 'a', 1), ...append(1, 'a', 1), ...append(-1, 'b', 3)];
    expect(outcomes(commit(group))).toEqual([APPENDED, 1, 2, CONFLICT, 1, 0, APPENDED, 2, 3, APPENDED, 2, 6]);
  });

  it('sees what another connection wrote since the last one', () => {
    const path = newPath();
    const [one, two] = [open(path), open(path)];
    expect(outcomes(one.commit(append(-1, 'a', 1)))).toEqual([APPENDED, 0, 1]);
    expect(outcomes(two.commit([...append(0, 'a', 1), ...append(-1, 'b', 1)]))).toEqual([
      APPENDED,
      1,
      2,
      APPENDED,
      0,
      3,
    ]);
    expect(outcomes(one.commit([...append(0, 'a', 1), ...append(1, 'a', 1)]))).toEqual([
      CONFLICT,
      1,
      0,
      APPENDED,
      2,
      4,
    ]);
    expect(outcomes(one.commit(append(0, 'b', 1)))).toEqual([APPENDED, 1, 5]);
  });

  it('is unavailable when another process holds its transaction too long, and goes on afterwards', () => {
    const path = newPath();
    const { commit } = open(path);
    const other = openPlainly(path);
    other.exec('BEGIN IMMEDIATE');
    expect(commit(append(-1, 'a', 1))).toMatchObject({
      type: 'failed',
      kind: 'unavailable',
      message: expect.stringContaining('locked'),
    });
    other.exec('ROLLBACK');
    expect(outcomes(commit(append(-1, 'a', 1)))).toEqual([APPENDED, 0, 1]);
  });

  it('writes nothing of a group for which the file is too small, and forgets what it had decided', () => {
    const { database, commit } = open(newPath());
    expect(outcomes(commit(append(-1, 'a', 1)))).toEqual([APPENDED, 0, 1]);
    database.exec('PRAGMA max_page_count = 40');
    const group = [...append(0, 'a', 1), ...append(-1, 'b', 1), ...append(-1, 'c', 4, 60_000)];
    expect(commit(group)).toMatchObject({
      type: 'failed',
      kind: 'unavailable',
      message: expect.stringContaining('full'),
    });
    expect(database.isTransaction).toBe(false);
    database.exec('PRAGMA max_page_count = 100000');
    expect(outcomes(commit(group))).toEqual([APPENDED, 1, 2, APPENDED, 0, 3, APPENDED, 3, 7]);
  });
});
