import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postMessage, recorded } from '../../gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../../gateway/start-gateway.ts';
import { type Answer, head, json, raw, silence, write } from '../../upstream/answer.ts';
import { message } from '../../upstream/message.ts';
import { streamEvents } from '../../upstream/stream-events.ts';
import { startUpstream, type Upstream } from '../../upstream/upstream.ts';

let upstream: Upstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  // One connection, so that each answer comes on that of the last.
  gateway = await startTestGateway({ upstreamUrl: upstream.url, provider: { connections: 1 } });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const whole = JSON.stringify(message({ tokens }));
const events = streamEvents({ tokens });
const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';
const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n';
const final = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${whole.length}\r\n\r\n${whole}`;

describe('an informational answer that nobody asked for is no error', () => {
  it.each<[string, string, Answer]>([
    ['100 Continue', whole, [raw(goOn), ...json(whole)]],
    ['100 Continue with headers', whole, [raw('HTTP/1.1 100 Continue\r\nx-a: 1\r\ndate: x\r\n\r\n'), ...json(whole)]],
    ['several', whole, [raw(goOn), raw(hints), raw(goOn + goOn), ...json(whole)]],
    ['103 Early Hints', whole, [raw(hints), ...json(whole)]],
    ['100 Continue cut in two', whole, [raw(goOn.slice(0, 9)), raw(goOn.slice(9)), ...json(whole)]],
    ['100 Continue before a stream', Buffer.concat(events).toString(), [raw(goOn), head(), ...events.map(write)]],
    ['100 Continue in one packet with the answer', whole, [raw(goOn + final), silence]],
  ])('%s', async (_what, body, answer) => {
    upstream.answerWith(answer);
    const got = await postMessage(gateway, { stream: body !== whole });
    expect([got.status, String(await got.rest())]).toEqual([200, body]);
    expect((await recorded(gateway)).usages.at(-1)).toMatchObject({ outcome: 'completed', tokens });
  });
});
