import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { ChatAnthropic } from '@langchain/anthropic';
import { tool as langchainTool } from '@langchain/core/tools';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import Anthropic0 from 'anthropic-sdk-0x';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';

/** Only the base URL and the key are set. opal-medium of the example catalog answers from the same mock and is billed. */
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const CANNED = /^This is the canned reply/;
const MODELS = ['svc-mock', 'opal-medium'] as const;
const weather = {
  name: 'weather',
  description: 'the weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
};
const hello = { max_tokens: 256, messages: [{ role: 'user' as const, content: 'hello' }] };

describe.each([
  ['@anthropic-ai/sdk, current', Anthropic as unknown as typeof Anthropic0],
  ['@anthropic-ai/sdk, last 0.x', Anthropic0],
])('%s', (_name, Sdk) => {
  const client = () => new Sdk({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });

  it.each(MODELS)('creates a message with %s', async (model) => {
    const message = await client().messages.create({ model, ...hello });
    expect(message.content[0]).toMatchObject({ type: 'text', text: expect.stringMatching(CANNED) });
    expect(message._request_id).toMatch(/^req_[0-9a-f]{32}$/);
  });

  it.each(MODELS)('streams a message with %s that adds up to what create gives', async (model) => {
    const streamed = await client()
      .messages.stream({ model, ...hello })
      .finalMessage();
    const created = await client().messages.create({ model, ...hello });
    expect(streamed.content).toEqual(created.content);
    expect(streamed.usage.output_tokens).toBe(created.usage.output_tokens);
  });

  it('goes round a tool loop', async () => {
    const asked = [{ role: 'user' as const, content: 'what is the weather?' }];
    const call = await client().messages.create({
      model: 'svc-mock',
      max_tokens: 256,
      tools: [weather],
      messages: asked,
    });
    const use = call.content[0];
    if (use?.type !== 'tool_use') throw new Error(`expected a tool call, got ${use?.type}`);
    expect(use.input).toEqual({ city: 'mock' });
    const result = { type: 'tool_result' as const, tool_use_id: use.id, content: 'sunny' };
    const answer = await client().messages.create({
      model: 'svc-mock',
      max_tokens: 256,
      tools: [weather],
      messages: [...asked, { role: 'assistant', content: call.content }, { role: 'user', content: [result] }],
    });
    expect(answer.stop_reason).toBe('end_turn');
  });

  it('streams the input of a tool call', async () => {
    const final = await client()
      .messages.stream({ model: 'svc-mock', ...hello, tools: [weather] })
      .finalMessage();
    expect(final.content[0]).toMatchObject({ type: 'tool_use', name: 'weather', input: { city: 'mock' } });
  });

  it('counts tokens', async () => {
    const count = await client().messages.countTokens({ model: 'svc-mock', messages: hello.messages });
    expect(count.input_tokens).toBeGreaterThan(0);
  });

  it('counts tokens and lists models through its beta paths', async () => {
    const count = await client().beta.messages.countTokens({ model: 'svc-mock', messages: hello.messages });
    expect(count.input_tokens).toBeGreaterThan(0);
    const page = await client().beta.models.list();
    expect(page.data.length).toBeGreaterThan(5);
  });

  it('lists models and ends, and retrieves one', async () => {
    const ids: string[] = [];
    for await (const model of client().models.list()) ids.push(model.id);
    expect(ids).toContain('svc-mock');
    expect(ids).not.toContain('opal-medium-2');
    expect((await client().models.retrieve('opal-medium')).id).toBe('opal-medium');
  });

  it('shows a refusal as its own error class with type and request id', async () => {
    const refused = client().messages.create({ model: 'no-such-model', ...hello });
    await expect(refused).rejects.toMatchObject({
      status: 404,
      type: 'not_found_error',
      requestID: expect.stringMatching(/^req_/),
    });
    await expect(
      new Sdk({ baseURL: gateway.url, apiKey: 'sk-svc-wrong', maxRetries: 0 }).models.list(),
    ).rejects.toMatchObject({ status: 401 });
  });
});

it('says in the words of the current SDK that the mock keeps no message threads', async () => {
  const answer = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': gateway.key },
    body: JSON.stringify({ model: 'svc-mock', ...hello, thread: { type: 'create' } }),
  });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { details: { error_code: 'thread_unsupported_request' } } });
});

it('lets the tool runner of the current SDK fall back from message threads to the whole history', async () => {
  const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const ran: unknown[] = [];
  const runner = client.beta.messages.toolRunner({
    model: 'svc-mock',
    ...hello,
    tools: [
      {
        ...weather,
        type: 'custom',
        parse: (input: unknown) => input,
        run: async (input: unknown) => {
          ran.push(input);
          return 'sunny';
        },
      },
    ],
  });
  const final = await runner.runUntilDone();
  expect(ran).toEqual([{ city: 'mock' }]);
  expect(final.stop_reason).toBe('end_turn');
});

describe('ai with @ai-sdk/anthropic', () => {
  const provider = () => createAnthropic({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key });
  const tools = {
    weather: tool({
      description: 'the weather',
      inputSchema: z.object({ city: z.string() }),
      execute: async () => 'sunny',
    }),
  };

  it.each(MODELS)('generates text with %s', async (model) => {
    const { text, usage } = await generateText({ model: provider()(model), prompt: 'hello', maxRetries: 0 });
    expect(text).toMatch(CANNED);
    expect(usage.outputTokens).toBeGreaterThan(0);
  });

  it.each(MODELS)('streams text with %s', async (model) => {
    const result = streamText({ model: provider()(model), prompt: 'hello', maxRetries: 0 });
    let text = '';
    for await (const part of result.textStream) text += part;
    expect(text).toMatch(CANNED);
    expect((await result.usage).inputTokens).toBeGreaterThan(0);
  });

  it('goes round a tool loop', async () => {
    const { text, steps } = await generateText({
      model: provider()('svc-mock'),
      prompt: 'weather?',
      tools,
      stopWhen: stepCountIs(3),
      maxRetries: 0,
    });
    expect(steps).toHaveLength(2);
    expect(text).toMatch(CANNED);
  });
});

describe('@langchain/anthropic', () => {
  const chat = (model: string) =>
    new ChatAnthropic({ model, anthropicApiUrl: gateway.url, apiKey: gateway.key, maxRetries: 0 });

  it.each(MODELS)('invokes %s', async (model) => {
    const answer = await chat(model).invoke('hello');
    expect(answer.text).toMatch(CANNED);
    expect(answer).toMatchObject({ usage_metadata: { output_tokens: expect.any(Number) } });
  });

  it.each(MODELS)('streams %s', async (model) => {
    let text = '';
    for await (const chunk of await chat(model).stream('hello')) text += chunk.text;
    expect(text).toMatch(CANNED);
  });

  it('calls a tool', async () => {
    const weatherTool = langchainTool(async () => 'sunny', {
      name: 'weather',
      description: 'the weather',
      schema: z.object({ city: z.string() }),
    });
    const answer = await chat('svc-mock').bindTools([weatherTool]).invoke('weather?');
    expect(answer.tool_calls?.[0]).toMatchObject({ name: 'weather', args: { city: 'mock' } });
  });
});
