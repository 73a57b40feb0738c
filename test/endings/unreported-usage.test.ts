import { afterAll, describe, expect, it } from 'vitest';
import { postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { type Answer, head, json, stream, write } from '../upstream/answer.ts';
import { text, thinking, toolUse } from '../upstream/content.ts';
import { message } from '../upstream/message.ts';
import { byteByByte } from '../upstream/rechunk.ts';
import { event, streamEvents } from '../upstream/stream-events.ts';

/** An answer that reached the client, and whose upstream did not say what it was: estimated from its text, and marked. */
const { upstream, gateway } = await startOnUpstream(afterAll);

const tokens = { input: 1_000, output: 400, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const sentence = 'The committee met on Tuesday to discuss the new water treatment plant. ';
const blocks = [
  thinking(...Array.from({ length: 10 }, () => sentence)),
  text(...Array.from({ length: 10 }, () => sentence)),
  toolUse('write', '{"text":"', ...Array.from({ length: 10 }, () => sentence), '"}'),
];
/** 30 sentences of 13 tokens each are 390 (o200k); the weights make three quarters of it. */
const isNear = (output: number): boolean => output > 290 && output < 390;
const question = { messages: [{ role: 'user', content: sentence.repeat(10) }] };

async function answered(answer: Answer, isStream: boolean, maxTokens = 1_000) {
  upstream.answerWith(answer);
  const got = await (await postMessage(gateway, { stream: isStream, maxTokens, body: question })).restOrCut();
  return { usage: (await recorded(gateway)).usages.at(-1), ...got };
}

const content = { tokens, blocks };
const { usage, ...unreported } = message(content);

describe('a JSON answer', () => {
  it.each<[string, unknown]>([
    ['without usage', unreported],
    ['with usage that is null', { ...unreported, usage: null }],
    ['with usage that is no object', { ...unreported, usage: 'none' }],
    ['with usage that is empty', { ...unreported, usage: {} }],
    ['with counts that are text', { ...unreported, usage: { input_tokens: '1000', output_tokens: '40' } }],
    ['with counts below zero', { ...unreported, usage: { input_tokens: -1, output_tokens: -40 } }],
    ['without a type and without usage', { ...unreported, type: undefined }],
  ])('%s is charged for the text of its output and of the request', async (_how, body) => {
    const { usage: recordedUsage, isCut } = await answered(json(body), false);
    expect(isCut).toBe(false);
    expect(recordedUsage).toMatchObject({ outcome: 'completed', source: 'estimated', billable: true });
    expect(recordedUsage?.tokens.output).toSatisfy(isNear);
    expect(recordedUsage?.tokens.input).toBeGreaterThan(95);
    expect(recordedUsage?.tokens.input).toBeLessThan(130);
  });

  it('in pieces, without a length, is charged the same', async () => {
    const body = Buffer.from(JSON.stringify(unreported));
    const inOne = await answered(json(unreported), false);
    const pieces = [head(200, { 'content-type': 'application/json' }), ...byteByByte([body]).map(write)];
    expect((await answered(pieces, false)).usage?.tokens).toEqual(inOne.usage?.tokens);
  });

  it('is never charged for more than max_tokens by estimate', async () => {
    expect((await answered(json(unreported), false, 50)).usage?.tokens.output).toBe(50);
  });

  it('keeps what can be read of its usage', async () => {
    const said = { ...(usage as object), cache_read_input_tokens: 'many' };
    const { usage: recordedUsage } = await answered(json({ ...unreported, usage: said }), false);
    expect(recordedUsage).toMatchObject({ source: 'estimated', tokens: { input: 1_000, output: 400, cacheRead: 0 } });
  });
});

describe('a stream', () => {
  const whole = streamEvents(content);
  const last = (said: unknown, reason: unknown = 'end_turn'): Buffer =>
    event('message_delta', { type: 'message_delta', delta: { stop_reason: reason }, usage: said });
  const stop = whole.slice(-1);

  it.each<[string, readonly Buffer[]]>([
    ['without message_delta', [...whole.slice(0, -2), ...stop]],
    ['whose message_delta has no usage', [...whole.slice(0, -2), last(undefined), ...stop]],
    ['whose message_delta has usage that is null', [...whole.slice(0, -2), last(null), ...stop]],
    ['whose last count cannot be read', [...whole.slice(0, -2), last({ output_tokens: '40' }), ...stop]],
    ['without message_delta usage and message_stop', [...whole.slice(0, -2), last({})]],
  ])('%s is charged for the text of its output', async (_how, chunks) => {
    const results = [];
    for (const cut of [chunks, byteByByte(chunks), [Buffer.concat(chunks)]]) {
      const { usage: recordedUsage, isCut } = await answered(stream(cut), true);
      expect(isCut).toBe(false);
      expect(recordedUsage).toMatchObject({ outcome: 'completed', source: 'estimated', tokens: { input: 1_000 } });
      expect(recordedUsage?.tokens.output).toSatisfy(isNear);
      results.push(recordedUsage?.tokens);
    }
    expect(new Set(results.map((counted) => JSON.stringify(counted))).size).toBe(1);
  });

  it('that says nothing of its input is charged for the text of the request', async () => {
    const [, ...rest] = whole;
    const { usage: recordedUsage } = await answered(
      stream([...rest.slice(0, -2), last({ output_tokens: 7 }), ...stop]),
      true,
    );
    expect(recordedUsage).toMatchObject({ source: 'estimated', tokens: { output: 7 } });
    expect(recordedUsage?.tokens.input).toBeGreaterThan(95);
    expect(recordedUsage?.tokens.input).toBeLessThan(130);
  });
});
