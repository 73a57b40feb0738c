import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openJournal } from '../../../ledger/journal/open-journal.ts';
import { journalFolder } from '../../fixtures/ledger/journal-folder.ts';
import { finishedOf, idOf, startOf } from '../../fixtures/ledger/numbered-requests.ts';

const ROUNDS = 10;
const PER_ROUND = 1_000_000;
const RUN_MS_MAX = 60;
/** Calls that a writer has made when it is killed, at least. */
const CALLS_MIN = 40;

/** Runs the endless writer, kills it at a random instant, and returns the calls that it told, as lines. */
async function killedWriter(directory: string, first: number): Promise<string[]> {
  const writer = fileURLToPath(new URL('fixtures/endless-writer.ts', import.meta.url));
  const child = spawn(process.execPath, [writer, directory, String(first)], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  const told = child.stdio[3];
  if (told === null || told === undefined || !('setEncoding' in told)) throw new Error('descriptor 3 is a pipe');
  told.setEncoding('utf8');
  let text = '';
  const hasBegun = once(told, 'data');
  told.on('data', (piece: string) => {
    text += piece;
  });
  const closed = once(child, 'close');
  await Promise.race([hasBegun, closed]);
  await expect(openJournal({ directory })).rejects.toThrow(
    expect.objectContaining({ kind: 'in_use', message: expect.stringContaining(directory) }),
  );
  await setTimeout(Math.random() * RUN_MS_MAX);
  while (text.split('\n').length <= CALLS_MIN && child.exitCode === null) await once(told, 'data');
  child.kill('SIGKILL');
  expect(await closed).toEqual([null, 'SIGKILL']);
  return text.split('\n').slice(0, -1);
}

test('every call that returned before kill -9 is recovered once, kept aside or not, crash after crash, and the folder is free at once', async () => {
  const directory = journalFolder();
  const begun = new Set<number>();
  const finished = new Set<number>();
  const maybeSettled = new Set<number>();
  let aside = 0;
  for (let round = 0; round < ROUNDS; round++) {
    for (const line of await killedWriter(directory, round * PER_ROUND)) {
      const told = line.startsWith('b') ? begun : line.startsWith('f') ? finished : maybeSettled;
      told.add(Number(line.slice(2)));
    }
    const { journal, recovered, damaged } = await openJournal({ directory, segmentBytesMax: 4_096 });
    expect(damaged).toEqual([]);
    const found = new Map(recovered.map((request) => [request.requestId, request]));
    expect(found.size).toBe(recovered.length);
    aside += journal.asideBytes;
    for (const index of begun) {
      const request = found.get(idOf(index));
      if (request === undefined) expect(maybeSettled).toContain(index);
      else expect(request.start).toBe(startOf(index));
      if (request !== undefined && finished.has(index)) expect(request.finished).toBe(finishedOf(index));
    }
    // The call under way when the kill came may be there as well, and nothing else.
    const told = new Set([...begun].map(idOf));
    expect(recovered.filter(({ requestId }) => !told.has(requestId)).length).toBeLessThan(2);
    const lastIndex = Math.max(...begun);
    for (const { requestId } of recovered) if (requestId > idOf(lastIndex)) journal.settle([requestId]);
    await journal.close();
  }
  expect(begun.size).toBeGreaterThan(ROUNDS * 10);
  expect(aside).toBeGreaterThan(0);
});
