import pino from 'pino';
import { expect, test } from 'vitest';
import { type RequestId, requestId } from '../../contracts/ids.ts';
import { Holds } from '../../proxy/holds.ts';
import { accountingWith } from '../fixtures/gateway/request-accounting.ts';

function scene(durable: () => Promise<void>) {
  const nothing = () => undefined;
  const lines: string[] = [];
  const forgotten: RequestId[] = [];
  const accounting = accountingWith({
    journal: {
      begin: nothing,
      finish: nothing,
      settle: (requestIds) => void forgotten.push(...requestIds),
      keepAside: nothing,
      durable,
    },
    holds: new Holds(),
    settlement: { submit: nothing },
    logger: pino({ level: 'error' }, { write: (line: string) => lines.push(line) }),
  });
  return { accounting, lines, forgotten };
}

test('a journal that was not synced is told, not thrown: the answer that waits for it goes out', async () => {
  const { accounting, lines } = scene(() => Promise.reject(new Error('the disk is gone')));
  await accounting.durable();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { err: { message: 'the disk is gone' }, msg: 'the journal was not synced to disk' },
  ]);
});

test('what is settled is for the journal to forget', () => {
  const { accounting, forgotten } = scene(() => Promise.resolve());
  accounting.settled(requestId('req_1'));
  expect(forgotten).toEqual(['req_1']);
});
