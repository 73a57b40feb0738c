import { expect, it } from 'vitest';
import { factsOf } from '../../../proxy/request-body/request-facts.ts';

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
