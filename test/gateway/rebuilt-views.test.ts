import { expect, it } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { dumpViews } from '../fixtures/gateway/dump-views.ts';
import { postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { json } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream } from '../upstream/upstream.ts';

/** What holds, 4: deleting every view and rebuilding gives the same answers, byte for byte. */
const me = async ({ url, key }: TestGateway): Promise<unknown> =>
  (await fetch(`${url}/me`, { headers: { 'x-api-key': key } })).json();

it('has identical views after views.db was deleted', async () => {
  const upstream = endedLater(await startUpstream());
  let gateway = await startTestGateway({ upstreamUrl: upstream.url });
  const again = { upstreamUrl: upstream.url, data: gateway.data };
  for (const isStream of [true, false, true, false, true]) {
    const answer = await postMessage(gateway, { stream: isStream, model: isStream ? 'opal-medium' : 'opal-old' });
    await answer.rest();
  }
  // Beyond their holds: two exceptions, of which one is ended.
  upstream.answerWith(json(message({ tokens: { input: 1, output: 1e9 } })));
  for (const _each of [1, 2]) await (await postMessage(gateway, { model: 'opal-medium' })).rest();
  await recorded(gateway);
  const debits = (await gateway.events()).flatMap(({ type, data }) => (type === 'CreditsDebited' ? [data] : []));
  const beyond = debits.find(({ leftOut }) => leftOut > 0n);
  if (beyond === undefined) throw new Error('no exception');
  const { requestId } = beyond;
  await gateway.command({ type: 'DropException', requestId, reason: 'no model writes that', actor: 'operator' });
  const before = await me(gateway);
  await gateway.stop();
  const rows = dumpViews(gateway.data, { remove: true });
  expect(rows.length).toBeGreaterThan(4);
  const exceptions = rows.map((row) => JSON.parse(row)).filter(({ table }) => /_exception$/.test(table));
  expect(exceptions.map(({ state }) => state).sort()).toEqual(['dropped', 'open']);

  gateway = await startTestGateway(again);
  expect(await me(gateway)).toEqual(before);
  await gateway.stop();
  expect(dumpViews(gateway.data, { remove: false })).toEqual(rows);

  // And from the rows themselves.
  gateway = await startTestGateway(again);
  expect(await me(gateway)).toEqual(before);
  const last = await postMessage(gateway, { model: 'opal-medium' });
  await last.rest();
  await recorded(gateway);
  await gateway.stop();
  const after = dumpViews(gateway.data, { remove: false });
  expect(after.filter((row) => /_exception"/.test(row))).toHaveLength(3);
});
