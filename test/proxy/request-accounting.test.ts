import pino from 'pino';
import { expect, test } from 'vitest';
import { Holds } from '../../proxy/admission/holds.ts';
import { accountingWith } from '../fixtures/gateway/request-accounting.ts';

test('a journal that was not synced is told, not thrown: the answer that waits for it goes out', async () => {
  const lines: string[] = [];
  const nothing = () => undefined;
  const accounting = accountingWith({
    journal: {
      begin: nothing,
      finish: nothing,
      settle: nothing,
      keepAside: nothing,
      durable: () => Promise.reject(new Error('the disk is gone')),
    },
    holds: new Holds(),
    settlement: { submit: nothing },
    logger: pino({ level: 'error' }, { write: (line: string) => lines.push(line) }),
  });
  await accounting.durable();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { err: { message: 'the disk is gone' }, msg: 'the journal was not synced to disk' },
  ]);
});
