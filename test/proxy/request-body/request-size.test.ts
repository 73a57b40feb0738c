import { describe, expect, it } from 'vitest';
import { factsOf } from '../../../proxy/request-body/request-facts.ts';
import { requestSize } from '../../../proxy/request-body/request-size.ts';
import { BARE, NAMED, saying, sizeOf, untouchable } from './sized-request.ts';

const image = (source: object) => ({ type: 'image', source });
const INLINE = image({ type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' });

describe('the size of a request', () => {
  const PLAIN = {
    images: 0,
    instructionTokens: 0,
    fillsWindow: false,
    rounds: 1,
    isFedFromOutside: false,
    behind: null,
    uses: [],
    usesAnything: false,
    cache: null,
    refused: null,
  };

  it('of plain text is its bytes and nothing else', () => {
    for (const more of [
      { messages: [{ role: 'user', content: 'hello' }], system: 'be kind' },
      saying({ type: 'text', text: 'hello' }),
      { system: null, tools: null, thread: null, container: null, mcp_servers: null, fallbacks: null },
    ])
      expect(sizeOf(more)).toEqual({ ...PLAIN, bodyBytes: expect.any(Number) });
    expect(sizeOf({}).bodyBytes).toBe(JSON.stringify({ model: 'm', max_tokens: 1, messages: [] }).length);
  });

  it('names the field for which more is held than its bytes: the first of those that may bring the most', () => {
    const search = { type: 'web_search_20250305', name: 'web_search' };
    const address = { type: 'document', source: { type: 'url', url: 'https://example.com/x.pdf' } };
    expect(sizeOf(saying(address)).behind).toBe('messages.0.content');
    const tools = { tools: [{ ...search, max_uses: 1 }, search, search] };
    expect(sizeOf({ ...saying(address), ...tools }).behind).toBe('tools.1.type');
    expect(sizeOf({ ...tools, next_field: {} }).behind).toBe('next_field');
  });

  it('counts images in messages, in the results of tools, and in documents', () => {
    const result = { type: 'tool_result', tool_use_id: 't', content: [INLINE, { type: 'text', text: 'x' }, INLINE] };
    expect(sizeOf(saying(INLINE, result))).toMatchObject({ images: 3, isFedFromOutside: false, fillsWindow: false });
    const document = { type: 'document', source: { type: 'content', content: [INLINE] } };
    expect(sizeOf(saying(document))).toMatchObject({ images: 1, isFedFromOutside: false, fillsWindow: false });
  });

  it.each([
    ['by its address', image({ type: 'url', url: 'https://example.com/x.png' })],
    ['by a file id', image({ type: 'file', file_id: 'f' })],
  ])('knows how much an image can be %s, and that no count does', (_title, block) => {
    expect(sizeOf(saying(block))).toMatchObject({ images: 1, isFedFromOutside: true, fillsWindow: false, rounds: 1 });
  });

  // What the SDKs and agents of the tests send, and what bring nothing but their bytes.
  it.each([
    ['thinking', { thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['adaptive thinking', { thinking: { type: 'adaptive', display: 'summarized' } }],
    ['sampling', { top_k: 5, top_p: 0.5, temperature: 1, stop_sequences: ['x'], stream: true }],
    ['output_config', { output_config: { effort: 'high', format: { type: 'json_schema', schema: {} } } }],
    ['output_format', { output_format: { type: 'json_schema', schema: {} } }],
    ['metadata', { metadata: { user_id: 'u' }, service_tier: 'auto', speed: 'standard' }],
    ['diagnostics', { diagnostics: { previous_message_id: 'm' } }],
    ['the geography of the price list', { inference_geo: 'global' }],
    ['its own bill', { billing_policy: { type: 'billing_policy', bill_to: 'self' } }],
    [
      'clearing',
      { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }, { type: 'clear_thinking_20251015' }] } },
    ],
    ['the start of a thread', { thread: { type: 'create' } }],
    [
      'all of output_config',
      { output_config: { task_budget: { type: 'tokens', total: 1, remaining: 1 }, format: null } },
    ],
    ['all of thinking', { thinking: { type: 'adaptive', display: 'omitted', block_binding: { next: 1 } } }],
    ['a choice of a tool', { tool_choice: { type: 'tool', name: 'n', disable_parallel_tool_use: true } }],
    [
      'clearing with all that it has',
      {
        context_management: {
          edits: [
            {
              type: 'clear_tool_uses_20250919',
              trigger: { type: 'input_tokens', value: 1 },
              keep: { type: 'tool_uses', value: 3 },
              clear_at_least: null,
              exclude_tools: ['x'],
              clear_tool_inputs: true,
            },
          ],
        },
      },
    ],
    ['the data of a client', { metadata: { next: 1 }, output_config: { format: { schema: { next: { type: 1 } } } } }],
    ['citations', saying({ type: 'text', text: 'x', citations: [{ type: 'char_location', next: 1 }] })],
    ['an effort of a message', { messages: [{ role: 'user', content: 'x', output_config: { effort: 'low' } }] }],
    ['no servers', { mcp_servers: [] }],
    [
      'tools',
      { tools: [{ name: 't', input_schema: {}, eager_input_streaming: true, strict: true, input_examples: [] }] },
    ],
    [
      'a tool that says what it is',
      { tools: [{ type: 'custom', name: 't', input_schema: {} }], tool_choice: { type: 'auto' } },
    ],
    [
      'a tool loop with thinking',
      saying({ type: 'thinking', thinking: 'x', signature: 's' }, { type: 'redacted_thinking', data: 'd' }),
    ],
    [
      'a tool call',
      saying({ type: 'tool_use', id: 't', name: 'n', input: { source: { type: 'url' } }, caller: { type: 'direct' } }),
    ],
    ['a tool result', saying({ type: 'tool_result', tool_use_id: 't', content: 'x', is_error: true })],
    [
      'search results',
      saying({ type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] }),
    ],
    [
      'a document of text',
      saying({
        type: 'document',
        title: 't',
        context: 'c',
        citations: { enabled: true },
        source: { type: 'text', media_type: 'text/plain', data: 'x' },
      }),
    ],
    ['a server tool of before', saying({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} })],
  ])('is its bytes: %s', (_title, more) => {
    expect(sizeOf(more)).toEqual({ ...PLAIN, bodyBytes: expect.any(Number) });
  });

  const OTHERS = [
    'bash_20250124',
    'text_editor_20250728',
    'computer_20251124',
    'memory_20250818',
    'browser_toolset_20260801',
  ];
  it.each(OTHERS)('has instructions beside its bytes for the tool %s, which the client runs', (type) => {
    const { instructionTokens, ...size } = sizeOf({ tools: [{ type, name: 'n' }] });
    expect(instructionTokens).toBeGreaterThan(1_000);
    expect(size).toMatchObject({ fillsWindow: false, isFedFromOutside: false, uses: [] });
  });

  it.each([
    ['a PDF', saying({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: '' } })],
    [
      'what is encrypted',
      saying({
        type: 'web_search_tool_result',
        tool_use_id: 't',
        content: [{ type: 'web_search_result', encrypted_content: 'x' }],
      }),
    ],
    ['a reference to a tool', saying({ type: 'tool_result', content: [{ type: 'tool_reference', tool_name: 'n' }] })],
    [
      'a PDF that was fetched',
      saying({
        type: 'web_fetch_tool_result',
        content: { type: 'web_fetch_result', content: { type: 'document', source: { type: 'base64' } } },
      }),
    ],
  ])('may fill the window, and a count knows: %s', (_title, more) => {
    expect(sizeOf(more)).toMatchObject({ fillsWindow: true, rounds: 1, isFedFromOutside: false });
  });

  it.each([
    ['by its address', { type: 'url', url: 'https://example.com/x.pdf' }],
    ['by a file id', { type: 'file', file_id: 'f' }],
  ])('may fill the window once by a document %s, and no count knows', (_title, source) => {
    const inside = { type: 'tool_result', content: [{ type: 'document', source }] };
    for (const block of [{ type: 'document', source }, inside])
      expect(sizeOf(saying(block))).toMatchObject({ fillsWindow: true, rounds: 1, isFedFromOutside: true });
  });

  const worst = { fillsWindow: true, rounds: 10, isFedFromOutside: true };
  const SEARCH = { type: 'web_search_20250305', name: 'web_search' };
  it.each([
    ['a server tool', { tools: [SEARCH] }],
    ['code that is run', { tools: [{ type: 'code_execution_20260521', name: 'code_execution' }] }],
    ['a search for tools', { tools: [{ type: 'tool_search_tool_regex', name: 'tool_search_tool_regex' }] }],
    ['a server of tools', { mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'x' }] }],
    ['tools of a server', { tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }] }],
    [
      'a tool that comes in the middle',
      saying({ type: 'tool_addition', tool: { type: 'tool_definition', definition: SEARCH } }),
    ],
    [
      'tools of a server that come in the middle',
      saying({ type: 'tool_addition', tool: { type: 'mcp_toolset_reference', server_name: 'x' } }),
    ],
    ['a tool of a kind that nobody knows', { tools: [{ type: 'next_20990101', name: 'next' }] }],
    ['a field of a tool that nobody knows', { tools: [{ name: 't', input_schema: {}, next: 1 }] }],
    ['a container', { container: 'c' }],
    ['skills', { container: { skills: [{ type: 'custom', skill_id: 's' }] } }],
    ['an upload to a container', saying({ type: 'container_upload', file_id: 'f' })],
    ['a field that nobody knows', { next_field: 1 }],
    ['a field of a message that nobody knows', { messages: [{ role: 'user', content: 'x', next: 1 }] }],
    ['a field of a block that nobody knows', saying({ type: 'text', text: 'x', next: 1 })],
    ['a block kind that nobody knows', saying({ type: 'next_kind' })],
    ['a block kind of the prototype', saying({ type: 'constructor' })],
    ['an unknown source', saying(image({ type: 'next' }))],
    ['an image without a source', saying({ type: 'image' })],
    ['an unknown document in the system', { system: [{ type: 'document' }] }],
    ['an unknown edit', { context_management: { edits: [{ type: 'next_20990101' }] } }],
    [
      'a thread that goes on, whose tools and caches nobody knows',
      { thread: { type: 'continue', previous_message_id: 'm' } },
    ],
  ])('may fill the window in each of ten rounds: %s', (_title, more) => {
    expect(sizeOf(more)).toMatchObject(worst);
  });

  it.each<[string, object]>([
    ['thinking', { thinking: { type: 'enabled', next: 1 } }],
    ['output_config', { output_config: { effort: 'high', next: 1 } }],
    ['the format in output_config', { output_config: { format: { type: 'json_schema', next: 1 } } }],
    ['the budget in output_config', { output_config: { task_budget: { next: 1 } } }],
    ['output_format', { output_format: { type: 'json_schema', next: 1 } }],
    ['diagnostics', { diagnostics: { next: 1 } }],
    ['tool_choice', { tool_choice: { type: 'auto', next: 1 } }],
    ['the start of a thread', { thread: { type: 'create', tools: [] } }],
    ['cache_control of the request', { cache_control: { type: 'ephemeral', next: 1 } }],
    ['context_management', { context_management: { edits: [], next: 1 } }],
    ['an edit', { context_management: { edits: [{ type: 'clear_thinking_20251015', next: 1 }] } }],
    ['output_config of a message', { messages: [{ role: 'user', content: 'x', output_config: { next: 1 } }] }],
    ['cache_control of a block', saying({ type: 'text', text: 'x', cache_control: { next: 1 } })],
    ['caller', saying({ type: 'tool_use', id: 't', name: 'n', input: {}, caller: { type: 'direct', next: 1 } })],
    ['citations', saying({ type: 'document', source: { type: 'text', data: 'x' }, citations: { next: 1 } })],
    ['the source of a document', saying({ type: 'document', source: { type: 'text', data: 'x', next: 1 } })],
    ['the source of an image', saying(image({ type: 'base64', data: '', next: 1 }))],
    [
      'the source of a document in the result of a tool',
      saying({ type: 'tool_result', content: [{ type: 'document', source: { type: 'text', data: 'x', next: 1 } }] }),
    ],
    ['cache_control of a tool', { tools: [{ name: 't', input_schema: {}, cache_control: { next: 1 } }] }],
    ['citations of a tool', { tools: [{ name: 't', input_schema: {}, citations: { next: 1 } }] }],
    ['the place of a user', { tools: [{ name: 't', input_schema: {}, user_location: { next: 1 } }] }],
  ])('is the worst by a field that nobody knows in %s', (_where, more) => {
    expect(sizeOf(more)).toMatchObject({ ...worst, usesAnything: true });
  });

  it('takes a continued thread for one that has the dearest cache and uses anything', () => {
    expect(sizeOf({ thread: { type: 'continue' } })).toMatchObject({ cache: '1h', usesAnything: true });
  });

  it.each([
    [[{ ...SEARCH, max_uses: 1 }], 3, [1]],
    [[{ ...SEARCH, max_uses: 5 }], 7, [5]],
    [[{ ...SEARCH, max_uses: 50 }], 10, [50]],
    [[{ ...SEARCH, max_uses: 0 }], 10, [100]],
    [[{ ...SEARCH, max_uses: 1.5 }], 10, [100]],
    [
      [
        { ...SEARCH, max_uses: 1 },
        { type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 2 },
      ],
      6,
      [1, 2],
    ],
    // Code that the provider runs calls them: each time in a round of its own.
    [[{ type: 'web_search_20260318', name: 'web_search', max_uses: 1 }], 10, [1]],
  ])('bounds rounds and uses by max_uses where that bounds them: %j', (tools, rounds, most) => {
    const size = sizeOf({ tools });
    expect([size.rounds, size.uses.map((use) => use.most)]).toEqual([rounds, most]);
  });

  it('says which field may use what is billed by the use', () => {
    const tools = [
      { name: 't', input_schema: {} },
      SEARCH,
      { type: 'code_execution_20260521', name: 'code_execution' },
    ];
    const uses = [
      { name: 'web_search_requests', path: 'tools.1.type', most: 100 },
      { name: 'code_execution_requests', path: 'tools.2.type', most: 100 },
    ];
    expect(sizeOf({ tools })).toMatchObject({ uses, usesAnything: false });
    // A version that nobody knows is billed by its name, and may use anything beside.
    const next = tools.map((tool) => ('type' in tool ? { ...tool, type: `${tool.name}_next`, max_uses: 100 } : tool));
    expect(sizeOf({ tools: next })).toMatchObject({ uses, usesAnything: true, rounds: 10, isFedFromOutside: true });
  });

  it.each([
    [{ tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'm' }] }, /^tools\.0\.type: another model/],
    [{ fallbacks: 'default' }, /^fallbacks: another model/],
    [{ fallback_credit_token: 't' }, /^fallback_credit_token: /],
    [{ compaction: { type: 'summarize' } }, /^compaction: /],
    [{ context_management: { edits: [{ type: 'compact_20260112' }] } }, /^context_management: a compaction/],
    [{ inference_geo: 'us' }, /^inference_geo: expected "global"/],
    [{ billing_policy: { type: 'billing_policy', bill_to: 'user_profile' } }, /^billing_policy: /],
  ])('refuses what has no bound or no price, and names it: %j', (more, why) => {
    expect(sizeOf(more).refused).toMatch(why);
  });

  it('stops where it is refused, and goes through no more fields where it is the worst', () => {
    const refused = { ...BARE, compaction: { type: 'x' }, messages: [untouchable] };
    expect(requestSize(refused as never, NAMED).refused).toMatch(/^compaction: /);
    let asked = 0;
    const many = new Proxy(Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, 0])), {
      getOwnPropertyDescriptor: (fields, name) => {
        asked++;
        return Object.getOwnPropertyDescriptor(fields, name);
      },
    });
    expect(requestSize({ ...BARE, messages: [many] } as never, NAMED.subarray(0, 0))).toMatchObject(worst);
    expect(asked).toBeLessThan(10);
  });

  it('has one entry a name for what is billed by the use, with all its uses and the first path', () => {
    const tools = Array.from({ length: 1_000 }, () => SEARCH);
    expect(sizeOf({ tools }).uses).toEqual([{ name: 'web_search_requests', path: 'tools.0.type', most: 100_000 }]);
  });

  it.each([
    ['the request', '"__proto__":{"x":1},"messages":[]'],
    ['a message', '"messages":[{"role":"user","content":"x","__proto__":{}}]'],
    ['a block', '"messages":[{"role":"user","content":[{"type":"text","text":"x","\\u005f_proto__":{}}]}]'],
    ['the choice of a tool', '"messages":[],"tool_choice":{"type":"auto","__proto__":{}}'],
    [
      'a source',
      '"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","__proto__":{}}}]}]',
    ],
    ['thinking', '"messages":[],"thinking":{"type":"enabled","__proto__":{}}'],
    ['a block of the system', '"messages":[],"system":[{"type":"text","text":"x","__proto__":{}}]'],
  ])('is the worst by a field __proto__ of %s', (_title, fields) => {
    const facts = factsOf('message', Buffer.from(`{"model":"m","max_tokens":1,${fields}}`), 0);
    if (facts.type === 'refusal') throw new Error(facts.message);
    expect(facts.size).toMatchObject({ ...worst, usesAnything: true });
  });

  it.each(['service_tier', 'inference_geo', 'context_management', 'fallbacks', 'compaction', 'billing_policy'])(
    'is not asked of a request that says %s twice',
    (name) => {
      const body = `{"model":"m","max_tokens":1,"messages":[],"${name}":{},"${name}":null}`;
      expect(factsOf('message', Buffer.from(body), 0)).toMatchObject({ type: 'refusal' });
    },
  );
});
