import { afterAll, expect, it } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { json, stream } from '../upstream/answer.ts';
import { text } from '../upstream/content.ts';
import { message } from '../upstream/message.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { startUpstream } from '../upstream/upstream.ts';

/** A log that takes no line of an estimate, as on a full disk: what accounts for an answer throws in the middle of it. */
class FullLog extends Array<string> {
  override push(...lines: string[]): number {
    if (lines.some((line) => line.includes('usage is estimated'))) throw new Error('no space left on device');
    return super.push(...lines);
  }
}

const logLines = new FullLog();
const upstream = endedLater(await startUpstream(), afterAll);
const gateway = await startTestGateway({ upstreamUrl: upstream.url, logLines });
afterAll(() => gateway.stop(2));

const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const content = { tokens, blocks: [text('one', ' two')] };
const unreported = JSON.stringify({ ...message(content), usage: null });
const events = streamEvents(content).filter((event) => !event.includes('event: message_delta'));

it.each([
  ['in one piece', json(unreported), unreported, false],
  ['as a stream', stream(events), Buffer.concat(events).toString('utf8'), true],
])(
  'an answer whose accounting throws reaches its client byte for byte, is told, and stops nothing: %s',
  async (_how, answer, bytes, isStream) => {
    const told = (): number => logLines.filter((line) => line.includes('could not be metered')).length;
    const before = told();
    upstream.answerWith(answer);
    const got = await postMessage(gateway, { stream: isStream });
    expect((await got.rest()).toString('utf8')).toBe(bytes);
    expect(told()).toBe(before + 1);
    upstream.answerWith(json(message(content)));
    await (await postMessage(gateway)).rest();
    const { usages } = await recorded(gateway);
    expect(usages.at(-1)).toMatchObject({ outcome: 'completed', source: 'reported', tokens });
  },
);
