import { expect, it } from 'vitest';
import { mockMessage } from '../../../proxy/request-body/mock-reply.ts';
import { factsOf } from '../../../proxy/request-body/request-facts.ts';
import { changedAt, placesIn } from '../../fixtures/changed-at.ts';
import { ODD_OBJECTS } from '../../fixtures/odd-objects.ts';

const NAME = 'n'.repeat(1024 * 1024);
const request = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hello' }] };

it.each([
  ['a model of any name', { model: NAME }],
  ['a field of any name', { [NAME]: 1 }],
  ['a field of any name within another', { output_config: { [NAME]: 1 } }],
  ['a tool of any name', { tools: [{ name: NAME, type: NAME, input_schema: { type: 'object', [NAME]: 1 } }] }],
  ['a block of any type', { messages: [{ role: 'user', content: [{ type: NAME, [NAME]: 1 }] }] }],
  ['text of any length', { system: NAME, stop_sequences: [NAME], metadata: { user_id: NAME } }],
  ['a key that stands twice', { [NAME]: { one: 1 } }],
])('keeps little of a request with %s', (_title, more) => {
  for (const kind of ['message', 'count'] as const) {
    const body = JSON.stringify({ ...request, ...more }).replace('{"one":1}', '{"one":1,"one":2}');
    expect(JSON.stringify(factsOf(kind, Buffer.from(body), 1_000)).length).toBeLessThan(2_000);
  }
});

it('reads or refuses whatever stands in one place of a request', () => {
  const source = { type: 'base64', media_type: 'image/png', data: 'eA==' };
  const blocks = [
    { type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } },
    { type: 'image', source },
    { type: 'tool_use', name: 'x', input: {} },
    { type: 'tool_result', content: [{ type: 'image', source }] },
  ];
  const whole = {
    ...request,
    messages: [{ role: 'user', content: blocks }],
    system: blocks,
    tools: [
      { type: 'web_search_20250305', name: 'web_search', max_uses: 3, user_location: {} },
      { name: 'x', input_schema: { type: 'object' }, cache_control: {} },
    ],
    ...{ mcp_servers: [{}], context_management: { edits: [{ type: 'clear_thinking_20251015' }] } },
    ...{ thread: { type: 'create' }, container: {}, inference_geo: 'global', billing_policy: { bill_to: 'self' } },
    ...{ thinking: { type: 'enabled' }, output_config: { effort: 'low' }, speed: 'fast' },
  };
  for (const path of placesIn(whole))
    for (const odd of ODD_OBJECTS) {
      const body = Buffer.from(JSON.stringify(changedAt(path, whole, odd)));
      factsOf('count', body, 1_000);
      if (factsOf('message', body, 1_000).type === 'facts') expect(mockMessage(body).message.type).toBe('message');
    }
});
