import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, get, post } from '../fixtures/gateway/call.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startUpstream } from '../upstream/upstream.ts';

it('a row of the views that cannot be read ends the gateway that asks for it, which says what it is; the next start has billed all once', async () => {
  const upstream = endedLater(await startUpstream());
  const first = await startTestGateway({ upstreamUrl: upstream.url });
  const again = { upstreamUrl: upstream.url, data: first.data };
  const ask = async (url: string) => expect((await post({ ...first, url }, '/v1/messages', ASKED)).status).toBe(200);
  await ask(first.url);
  await first.events();
  await first.stop();
  const file = join(first.data, 'views.db');
  ruinLine(file);

  const logLines: string[] = [];
  const unusable = Promise.withResolvers<Error>();
  const second = await startTestGateway({ ...again, logLines, onUnusable: unusable.resolve });
  expect((await get(second, '/readyz')).status).toBe(200);
  await ask(second.url);
  const why = `${file} cannot be read as views (.*), and was set aside as ${file}.damaged: the next start makes it anew`;
  expect((await unusable.promise).message).toMatch(new RegExp(why));
  expect((await get(second, '/healthz')).status).toBe(503);
  await second.stop();
  expect(logLines.filter((line) => line.includes('event log'))).toEqual([]);

  const third = await startTestGateway(again);
  const billed = (await third.events()).map(({ type }) => type).filter((type) => BILLED.test(type));
  expect(billed).toEqual(['UsageRecorded', 'CreditsDebited', 'UsageRecorded', 'CreditsDebited']);
  await third.stop();
});

const ASKED = asking('opal-medium');
const BILLED = /^(UsageRecorded|CreditsDebited)$/;

function ruinLine(file: string): void {
  const database = new DatabaseSync(file);
  const { name } = database.prepare("SELECT name FROM sqlite_schema WHERE name GLOB 'monthly_v[0-9]*'").get() ?? {};
  database.exec(`UPDATE ${name} SET count = 'twelve'`);
  database.close();
}
