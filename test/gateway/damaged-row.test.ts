import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { ledgerId } from '../../contracts/ids.ts';
import { writeLedgerOfViews } from '../../projections/known-views.ts';
import { removeViews } from '../../projections/remove-views.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, get, post } from '../fixtures/gateway/call.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { ruinPages } from '../fixtures/ledger/views-pages.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
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

it('a page of the views that cannot be read is none any more where they are rebuilt beside the gateway that has them open', async () => {
  const upstream = endedLater(await startUpstream());
  const first = await startTestGateway({ upstreamUrl: upstream.url });
  expect((await post(first, '/v1/messages', ASKED)).status).toBe(200);
  await first.events();
  await first.stop();
  const gateway = await startTestGateway({ upstreamUrl: upstream.url, data: first.data });
  const ask = { ...first, url: gateway.url };
  ruinPages(join(first.data, 'views.db'), 'opal-medium');
  const rebuilt = await runHere('projections', 'rebuild', '--all', '--data', first.data);
  expect(rebuilt).toMatchObject({
    ...{ exitCode: 0, stdout: expect.stringMatching(/switched in the gateway; what was there cannot be relied on/) },
  });
  expect((await post(ask, '/v1/messages', ASKED)).status).toBe(200);
  const back = await runHere('projections', 'rollback', '--data', first.data);
  expect(back).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('rebuild instead') });
  await gateway.stop();
});

it('where views.db alone is of another ledger a rebuild tells what to do with it', async () => {
  const { data, stop, events } = await startTestGateway();
  await events();
  await stop();
  const file = join(data, 'views.db');
  writeLedgerOfViews(file, { ledgerId: ledgerId('ledger_019a5b3c00007000800000000000000b'), generation: 1 });
  const rebuild = () => runHere('projections', 'rebuild', '--all', '--data', data);
  expect(await rebuild()).toMatchObject({
    ...{ exitCode: 3, stderr: expect.stringContaining('nothing is made of it. Where it is the right one') },
  });
  removeViews(file);
  expect(await rebuild()).toMatchObject({ exitCode: 0 });
});
