import { once } from 'node:events';
import { afterAll, expect, it } from 'vitest';
import { asking } from '../fixtures/gateway/call.ts';
import { openSocket, requestText } from '../fixtures/gateway/raw-socket.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { wait } from '../upstream/answer.ts';

const { upstream, gateway } = await startOnUpstream(afterAll, { provider: { onClientDisconnect: 'cancel' } });

const NEXT = 'POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: none\r\n';

/** Node tells of a client that has gone in the middle of a request as of one that sends what is not HTTP. */
it.each([
  ['in the middle of a word', 'P'],
  ['in the middle of a head', NEXT],
  ['in the middle of a body', `${NEXT}content-length: 10\r\n\r\n{`],
  ['in the middle of a chunk', `${NEXT}transfer-encoding: chunked\r\n\r\n5\r\nab`],
])('a client that leaves %s behind its request has left: its call is cancelled', async (_where, bytes) => {
  const sent = upstream.requests.length;
  const never = Promise.withResolvers<void>();
  upstream.answerWith([wait(never.promise)]);
  const socket = await openSocket(gateway.url);
  socket.write(requestText(gateway.key, JSON.stringify(asking('opal-medium')), []));
  const seen = await upstream.seen(sent);
  await new Promise((resolve) => socket.write(bytes, resolve));
  socket.end();
  await seen.over;
  expect(seen.leftMs).not.toBe(null);
  never.resolve();
  await once(socket, 'close');
  const last = (await gateway.events()).findLast(({ type }) => type === 'UsageRecorded');
  expect(last).toMatchObject({ data: { outcome: 'client_disconnected' } });
});
