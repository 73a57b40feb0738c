import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { messageBody } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';

const WAIT = { timeout: 60_000, interval: 1 };
/** It takes a thread longer to parse than a stop takes that waits for nothing. */
const LONG_BODY = messageBody({
  model: 'svc-mock',
  body: {
    messages: [
      { role: 'user', content: Array.from({ length: 30_000 }, () => ({ type: 'text', text: 'x'.repeat(500) })) },
    ],
  },
});

/** Sends all of a body but its last byte. */
function post({ url, key }: TestGateway, body: string) {
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'content-length': body.length };
  const request = httpRequest(`${url}/v1/messages`, { method: 'POST', agent: false, headers });
  onTestFinished(() => void request.destroy());
  const answered = new Promise<{ status: number; headers: IncomingMessage['headers']; body: string }>(
    (resolve, reject) => {
      request.on('error', reject);
      request.on('response', (response) =>
        resolve(
          text(response).then((read) => ({ status: response.statusCode ?? 0, headers: response.headers, body: read })),
        ),
      );
    },
  );
  answered.catch(() => undefined);
  request.write(body.slice(0, -1));
  return { answered, sendRest: () => new Promise<void>((resolve) => request.end(body.slice(-1), resolve)) };
}

const stopping = {
  status: 529,
  headers: { 'retry-after': '1', 'x-should-retry': 'true' },
  body: expect.stringContaining('the gateway is stopping'),
};

it('a request whose long body is being parsed when its gateway stops is refused with advice to come back', async () => {
  const gateway = await startTestGateway();
  const { answered, sendRest } = post(gateway, LONG_BODY);
  await expect.poll(() => gateway.gateway.process.bodies.bytes, WAIT).toBeGreaterThan(0);
  // By then all of it has left its client: it comes, or is parsed.
  await sendRest();
  const stopped = gateway.stop();
  expect(await answered).toMatchObject(stopping);
  await stopped;
});

it('a request whose body is still coming then is refused, too, when it has come', async () => {
  const gateway = await startTestGateway();
  const { answered, sendRest } = post(gateway, messageBody({ model: 'svc-mock' }));
  await expect.poll(() => gateway.gateway.process.bodies.bytes, WAIT).toBeGreaterThan(0);
  const stopped = gateway.stop();
  await sendRest();
  expect(await answered).toMatchObject(stopping);
  await stopped;
});
