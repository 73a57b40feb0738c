import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { ChatAnthropic } from '@langchain/anthropic';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import Anthropic0 from 'anthropic-sdk-0x';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { recorded } from '../fixtures/gateway/post-message.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { type Answer, countTokens, failure, json, stream } from '../upstream/answer.ts';
import { type AnswerContent, text, thinking, toolUse } from '../upstream/content.ts';
import { message } from '../upstream/message.ts';
import { cutAtRandom } from '../upstream/rechunk.ts';
import type { SeenRequest } from '../upstream/seen-request.ts';
import { errorEvent, streamEvents } from '../upstream/stream-events.ts';

/** The real SDKs through the gateway to an upstream that answers as providers do: thinking, tools, cache usage. */
const { upstream, gateway } = await startOnUpstream(afterAll);

const tokens = { input: 21, output: 9, cacheRead: 400, cacheWrite5m: 30, cacheWrite1h: 7 };
const said: AnswerContent = { tokens, blocks: [thinking('well', ' now'), text('Grüße', ' aus ', 'Zürich')] };
const asked: AnswerContent = { tokens, blocks: [text('let me look'), toolUse('weather', '{"city"', ':"Zürich"}')] };
const weather = {
  name: 'weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
};
const hello = { model: 'opal-medium', max_tokens: 256, messages: [{ role: 'user' as const, content: 'hello' }] };

/** A tool is called until its result comes; streams are cut anywhere. */
function answerTo({ path, body }: SeenRequest): Answer {
  if (path.startsWith('/v1/messages/count_tokens')) return countTokens(4_711);
  const request = JSON.parse(body.toString('utf8'));
  const wantsTool = request.tools !== undefined && !body.includes('"tool_result"');
  const content = wantsTool ? asked : said;
  return request.stream === true ? stream(cutAtRandom(streamEvents(content), 5)) : json(message(content));
}

beforeEach(() => upstream.answerWith(answerTo));

async function lastIsBilled(): Promise<void> {
  const { usages, debits } = await recorded(gateway);
  expect(usages.at(-1)).toMatchObject({ outcome: 'completed', source: 'reported', tokens });
  expect(debits.at(-1)).toMatchObject({
    requestId: usages.at(-1)?.requestId,
    cost: 21n * 3_000_000n + 9n * 15_000_000n + 400n * 300_000n + 30n * 3_750_000n + 7n * 6_000_000n,
  });
}

describe.each([
  ['@anthropic-ai/sdk, current', Anthropic as unknown as typeof Anthropic0],
  ['@anthropic-ai/sdk, last 0.x', Anthropic0],
])('%s', (_name, Sdk) => {
  const client = () => new Sdk({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });

  it('creates and streams the same message, each billed', async () => {
    const created = await client().messages.create(hello);
    await lastIsBilled();
    const streamed = await client().messages.stream(hello).finalMessage();
    await lastIsBilled();
    expect(streamed.content).toEqual(created.content);
    expect(streamed.usage).toMatchObject({
      input_tokens: 21,
      output_tokens: 9,
      cache_read_input_tokens: 400,
      cache_creation_input_tokens: 37,
    });
  });

  it('goes round a tool loop with streamed input', async () => {
    const call = await client()
      .messages.stream({ ...hello, tools: [weather] })
      .finalMessage();
    expect(call.content[1]).toMatchObject({ type: 'tool_use', name: 'weather', input: { city: 'Zürich' } });
    const result = { type: 'tool_result' as const, tool_use_id: 'toolu_weather', content: 'sunny' };
    const messages = [
      ...hello.messages,
      { role: 'assistant' as const, content: call.content },
      { role: 'user' as const, content: [result] },
    ];
    const answer = await client().messages.create({ ...hello, tools: [weather], messages });
    expect(answer.stop_reason).toBe('end_turn');
    await lastIsBilled();
  });

  it('counts tokens upstream', async () => {
    const { model, messages } = hello;
    expect((await client().messages.countTokens({ model, messages })).input_tokens).toBe(4_711);
  });

  it('lists models', async () => {
    const ids: string[] = [];
    for await (const model of client().models.list()) ids.push(model.id);
    expect(ids).toContain('opal-medium');
  });

  it('sees an error event of the upstream as an error', async () => {
    upstream.answerWith(stream([...streamEvents(said).slice(0, 4), errorEvent('overloaded_error', 'Overloaded')]));
    await expect(client().messages.stream(hello).finalMessage()).rejects.toThrow(/Overloaded/);
  });

  it('retries what is overloaded before the first byte', async () => {
    let calls = 0;
    upstream.answerWith((request) =>
      ++calls === 1 ? failure(529, undefined, { 'retry-after': '1' }) : answerTo(request),
    );
    const patient = new Sdk({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 1 });
    expect((await patient.messages.create(hello)).stop_reason).toBe('end_turn');
    expect(calls).toBe(2);
  });

  it('does not try again what the upstream refuses the gateway', async () => {
    const first = upstream.requests.length;
    upstream.answerWith(failure(401));
    const patient = new Sdk({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 3 });
    await expect(patient.messages.create(hello)).rejects.toMatchObject({ status: 502 });
    expect(upstream.requests.length).toBe(first + 1);
  });
});

it('keeps message threads of the current SDK with the upstream that has them', async () => {
  const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const first = upstream.requests.length;
  const run = async () => 'sunny';
  const runner = client.beta.messages.toolRunner({
    ...hello,
    tools: [{ ...weather, type: 'custom', parse: (input: unknown) => input, run }],
  });
  expect((await runner.runUntilDone()).stop_reason).toBe('end_turn');
  const bodies = upstream.requests.slice(first).map(({ body }) => JSON.parse(body.toString('utf8')));
  expect(bodies[0]).toMatchObject({ thread: { type: 'create' } });
  expect(bodies[1]).toMatchObject({ thread: { type: 'continue' } });
});

describe('ai with @ai-sdk/anthropic', () => {
  const model = () => createAnthropic({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key })('opal-medium');
  const tools = { weather: tool({ inputSchema: z.object({ city: z.string() }), execute: async () => 'sunny' }) };

  it('generates and streams', async () => {
    expect((await generateText({ model: model(), prompt: 'hello', maxOutputTokens: 256, maxRetries: 0 })).text).toBe(
      'Grüße aus Zürich',
    );
    await lastIsBilled();
    const result = streamText({ model: model(), prompt: 'hello', maxOutputTokens: 256, maxRetries: 0 });
    expect(await result.text).toBe('Grüße aus Zürich');
    expect((await result.usage).outputTokens).toBe(9);
    await lastIsBilled();
  });

  it('goes round a tool loop', async () => {
    const { steps, text: answer } = await generateText({
      model: model(),
      prompt: 'weather?',
      tools,
      stopWhen: stepCountIs(3),
      maxOutputTokens: 256,
      maxRetries: 0,
    });
    expect(steps).toHaveLength(2);
    expect(answer).toBe('Grüße aus Zürich');
  });
});

describe('@langchain/anthropic', () => {
  const chat = () =>
    new ChatAnthropic({
      model: 'opal-medium',
      anthropicApiUrl: gateway.url,
      apiKey: gateway.key,
      maxTokens: 256,
      maxRetries: 0,
    });

  it('invokes and streams', async () => {
    expect((await chat().invoke('hello')).text).toContain('Grüße aus Zürich');
    await lastIsBilled();
    let streamed = '';
    for await (const chunk of await chat().stream('hello')) streamed += chunk.text;
    expect(streamed).toBe('Grüße aus Zürich');
    await lastIsBilled();
  });

  it('calls a tool', async () => {
    const answer = await chat()
      .bindTools([{ name: 'weather', description: 'the weather', input_schema: weather.input_schema }])
      .invoke('weather?');
    expect(answer.tool_calls?.[0]).toMatchObject({ name: 'weather', args: { city: 'Zürich' } });
  });
});
