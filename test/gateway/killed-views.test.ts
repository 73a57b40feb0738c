import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { wasClosedWhole } from '../../projections/closed-mark.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, post } from '../fixtures/gateway/call.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startUpstream } from '../upstream/upstream.ts';

const MIXED = 'UPDATE stamped SET total = total + 1';

it.each([
  ['killed, looks at all rows before anything is admitted by them', `DROP TABLE closed_whole; ${MIXED}`, 1],
  ['stopped, and closed its views whole, does not', MIXED, 0],
])('a start behind a gateway that was %s', async (_what, sql, setAside) => {
  const upstream = endedLater(await startUpstream());
  const first = await startTestGateway({ upstreamUrl: upstream.url });
  await first.events();
  await first.stop();
  const file = join(first.data, 'views.db');
  expect(wasClosedWhole(file)).toBe(true);
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();

  const logLines: string[] = [];
  const second = await startTestGateway({ upstreamUrl: upstream.url, data: first.data, logLines });
  const lines = logLines.map((line) => JSON.parse(line));
  const told = lines.filter(({ msg }) => /set aside/.test(msg));
  expect(told).toEqual(
    Array.from({ length: setAside }, () => expect.objectContaining({ reason: expect.stringMatching(/one moment/) })),
  );
  expect(existsSync(`${file}.damaged`)).toBe(setAside > 0);
  expect((await post({ ...first, url: second.url }, '/v1/messages', asking('opal-medium'))).status).toBe(200);
  expect(wasClosedWhole(file)).toBe(false);
  await second.stop();
});
