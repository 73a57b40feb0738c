import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readLedgerOfViews } from '../../projections/known-views.ts';
import { wasClosedWhole } from '../../projections/was-closed-whole.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, post } from '../fixtures/gateway/call.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { execute } from '../projections/example-ledger.ts';
import { startUpstream } from '../upstream/upstream.ts';

const MIXED = 'UPDATE stamped SET total = total + 1';
const KILLED = `DROP TABLE closed_whole; ${MIXED}`;

it.each([
  ['killed, looks at all rows before anything is admitted by them', KILLED, 1],
  ['stopped, and closed its views whole, does not', MIXED, 0],
])('a start behind a gateway that was %s', async (_what, sql, setAside) => {
  const upstream = endedLater(await startUpstream());
  const first = await startTestGateway({ upstreamUrl: upstream.url });
  await first.events();
  await first.stop();
  const file = join(first.data, 'views.db');
  expect(wasClosedWhole(file)).toBe(true);
  const identity = readLedgerOfViews(file);
  expect(identity).not.toBeNull();
  execute(file, sql);

  const logLines: string[] = [];
  const second = await startTestGateway({ upstreamUrl: upstream.url, data: first.data, logLines });
  const lines = logLines.map((line) => JSON.parse(line));
  const told = lines.filter(({ msg }) => /set aside/.test(msg));
  expect(told).toEqual(
    Array.from({ length: setAside }, () => expect.objectContaining({ reason: expect.stringMatching(/one moment/) })),
  );
  expect(existsSync(`${file}.damaged`)).toBe(setAside > 0);
  // What was made anew belongs to the ledger, so that a rebuild can take its place.
  expect(readLedgerOfViews(file)).toEqual(identity);
  expect((await post({ ...first, url: second.url }, '/v1/messages', asking('opal-medium'))).status).toBe(200);
  expect(wasClosedWhole(file)).toBe(false);
  await second.stop();
});

it('a start that takes up other views than the live ones looks at the rows of those', async () => {
  const first = await startTestGateway();
  await first.events();
  await first.stop();
  const file = join(first.data, 'views.db');
  const previous = join(first.data, 'views.previous.db');
  copyFileSync(file, previous);
  execute(previous, KILLED);
  execute(file, `UPDATE stored_view SET version = 6 WHERE name = 'balance'`);
  const logLines: string[] = [];
  const second = await startTestGateway({ data: first.data, logLines });
  expect(logLines.join()).toContain('what was made of this one takes its place');
  expect(logLines.join()).toMatch(/not of one moment/);
  expect(existsSync(`${file}.damaged`)).toBe(true);
  await second.stop();
});

it('a start with views of a new ledger, which hold nothing, begins no thread to look at their rows', async () => {
  let threads = 0;
  const count = (): void => {
    threads++;
  };
  subscribe('worker_threads', count);
  const gateway = await startTestGateway();
  unsubscribe('worker_threads', count);
  // One that writes the log, one that reads it, one that writes the views.
  expect(threads).toBe(3);
  await gateway.stop();
});
