import { describe, expect, it } from 'vitest';
import { messageRequestSchema } from '../../../contracts/messages.ts';
import { requestSize } from '../../../proxy/admission/request-size.ts';

const sizeOf = (more: object) =>
  requestSize(messageRequestSchema.parse({ model: 'm', max_tokens: 1, messages: [], ...more }), 777);
const saying = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const image = (source: object) => ({ type: 'image', source });
const INLINE = image({ type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' });

describe('the size of a request', () => {
  it('of plain text is its bytes and nothing else', () => {
    const plain = { bodyBytes: 777, images: 0, refersToMore: false, cache: null };
    expect(sizeOf({ messages: [{ role: 'user', content: 'hello' }], system: 'be kind' })).toEqual(plain);
    expect(sizeOf(saying({ type: 'text', text: 'hello' }))).toEqual(plain);
    expect(sizeOf({ system: null, tools: null, thread: null, container: null })).toEqual(plain);
  });

  it('counts images in messages and in the results of tools', () => {
    const result = { type: 'tool_result', tool_use_id: 't', content: [INLINE, { type: 'text', text: 'x' }, INLINE] };
    expect(sizeOf(saying(INLINE, result))).toMatchObject({ images: 3, refersToMore: false });
  });

  it.each(['text', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'search_result'])(
    'is in its bytes: a block of kind %s',
    (type) => {
      expect(sizeOf(saying({ type }))).toMatchObject({ refersToMore: false });
    },
  );

  it.each([
    ['an image by its address', saying(image({ type: 'url', url: 'https://example.com/x.png' }))],
    ['an image by a file id', saying(image({ type: 'file', file_id: 'f' }))],
    ['an image without a source', saying({ type: 'image' })],
    ['a document', saying({ type: 'document', source: { type: 'base64', data: '' } })],
    ['a block kind that nobody knows', saying({ type: 'next_kind' })],
    ['a document in the result of a tool', saying({ type: 'tool_result', content: [{ type: 'document' }] })],
    ['a document in the system', { system: [{ type: 'document' }] }],
    ["a tool of the upstream's own", { tools: [{ type: 'web_search_20990101', name: 'search' }] }],
    ['a thread that goes on', { thread: { type: 'continue', previous_message_id: 'm' } }],
    ['a container', { container: 'c' }],
  ])('is not in its bytes: %s', (_title, more) => {
    expect(sizeOf(more)).toMatchObject({ refersToMore: true });
  });

  it.each([
    ['a tool of the client', { tools: [{ name: 't', input_schema: {} }] }],
    ['a tool that says that it is', { tools: [{ type: 'custom', name: 't', input_schema: {} }] }],
  ])('is in its bytes: %s', (_title, more) => {
    expect(sizeOf(more)).toMatchObject({ refersToMore: false });
  });

  const FIVE = { cache_control: { type: 'ephemeral' } };
  const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } };
  const places: readonly (readonly [string, (control: object) => object])[] = [
    ['on the request itself', (control) => control],
    ['on a block of a message', (control) => saying({ type: 'text', text: 'x', ...control })],
    ['on a block of the system', (control) => ({ system: [{ type: 'text', text: 'x', ...control }] })],
    ['on a tool', (control) => ({ tools: [{ name: 't', input_schema: {}, ...control }] })],
    [
      "on a tool of the upstream's own",
      (control) => ({ tools: [{ type: 'bash_20990101', name: 'bash', ...control }] }),
    ],
    [
      'on a block in the result of a tool',
      (control) => saying({ type: 'tool_result', content: [{ type: 'text', text: 'x', ...control }] }),
    ],
  ];

  it.each(places)('sees a cache %s, and for how long', (_title, place) => {
    expect(sizeOf(place({})).cache).toBe(null);
    expect(sizeOf(place({ cache_control: null })).cache).toBe(null);
    expect(sizeOf(place(FIVE)).cache).toBe('5m');
    expect(sizeOf(place({ cache_control: { ttl: '5m' } })).cache).toBe('5m');
    expect(sizeOf(place(HOUR)).cache).toBe('1h');
  });

  it('takes the longest cache, in whatever order they stand', () => {
    const text = { type: 'text', text: 'x' };
    expect(sizeOf(saying({ ...text, ...HOUR }, { ...text, ...FIVE }, text)).cache).toBe('1h');
    expect(sizeOf({ ...FIVE, ...saying({ ...text, ...HOUR }) }).cache).toBe('1h');
  });

  // What is connected so is read by the upstream and billed as input, and nothing of it stands in the request's bytes.
  it('is not in its bytes: servers whose tools the upstream calls (mcp_servers), which are not looked at today', () => {
    expect(sizeOf({ mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'x' }] }).refersToMore).toBe(true);
  });
});
