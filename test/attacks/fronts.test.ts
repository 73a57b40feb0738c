import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '../../contracts/limits.ts';
import { messageBody, postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { Processes } from '../fixtures/processes/processes.ts';
import { head, silence, wait, write } from '../upstream/answer.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { README_FRONTS } from './readme-fronts.ts';

const PER_ADDRESS = 2;

/** What the README puts in front passes on what the gateway does: it holds nothing back, and says who is there. */
const { upstream, gateway } = await startOnUpstream(afterAll, {
  provider: { onClientDisconnect: 'cancel' },
  settings: { trustedProxies: ['127.0.0.1'], connections: { perAddress: PER_ADDRESS } },
});
const processes = new Processes();
const urls: Record<string, string | null> = {};
beforeAll(async () => {
  for (const [name, start] of Object.entries(README_FRONTS)) urls[name] = await start(processes, gateway.url);
});
afterAll(() => processes.stopAll());

const endedCount = async (): Promise<number> => (await recorded(gateway)).usages.length;

describe.each(Object.keys(README_FRONTS))('%s in front', (name) => {
  const target = () => ({ url: urls[name] ?? '', key: gateway.key });

  it('passes events on as they come, and that a client has left', async ({ skip }) => {
    if (urls[name] === null) return skip(`${name} is not installed`);
    const ended = await endedCount();
    const [first = Buffer.alloc(0), ...others] = streamEvents();
    const { promise, resolve } = Promise.withResolvers<void>();
    upstream.answerWith([head(), write(first), wait(promise), ...others.slice(0, 2).map(write), silence]);
    const answer = await postMessage(target(), { stream: true });
    const read = async (until: number): Promise<string> => {
      let text = '';
      while (text.length < until) text += String(await answer.next());
      return text;
    };
    expect(await read(first.length)).toBe(first.toString());
    resolve();
    await read(others[0]?.length ?? 0);
    answer.leave();
    await expect.poll(endedCount).toBe(ended + 1);
    expect((await recorded(gateway)).usages.at(-1)).toMatchObject({ outcome: 'client_disconnected' });
  });

  it('leaves it to the gateway to say that a body is too long', async ({ skip }) => {
    if (urls[name] === null) return skip(`${name} is not installed`);
    const { url, key } = target();
    const response = await fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key },
      body: new Uint8Array(LIMITS.requestBodyBytesMax + 1),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('32 MiB') } });
  });

  it('says where a client is, whatever the client itself says', async ({ skip }) => {
    if (urls[name] === null) return skip(`${name} is not installed`);
    upstream.answerWith([silence]);
    const { url, key } = target();
    const from = (localAddress: string) => {
      const headers = { 'x-api-key': key, 'x-forwarded-for': '192.0.2.7' };
      const call = request(`${url}/v1/messages`, { method: 'POST', localAddress, headers, agent: false });
      call.on('error', () => undefined);
      call.end(messageBody({}));
      return call;
    };
    const [seen, ended] = [upstream.requests.length, await endedCount()];
    const held = Array.from({ length: PER_ADDRESS }, () => from('127.0.0.9'));
    await expect.poll(() => upstream.requests.length).toBe(seen + PER_ADDRESS);
    const [refused] = await once(from('127.0.0.9'), 'response');
    expect(refused.statusCode).toBe(429);
    const other = from('127.0.0.10');
    await expect.poll(() => upstream.requests.length).toBe(seen + PER_ADDRESS + 1);
    for (const call of [...held, other]) call.destroy();
    await expect.poll(endedCount).toBe(ended + PER_ADDRESS + 1);
  });
});
