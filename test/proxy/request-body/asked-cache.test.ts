import { describe, expect, it } from 'vitest';
import { messageRequestSchema } from '../../../contracts/messages.ts';
import { requestSize } from '../../../proxy/request-body/request-size.ts';
import { BARE, NAMED, saying, sizeOf, untouchable } from './sized-request.ts';

describe('the cache that a request asks for', () => {
  const FIVE = { cache_control: { type: 'ephemeral' } };
  const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } };
  const text = { type: 'text', text: 'x' };
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
      'on a block in the source of a document',
      (control) => saying({ type: 'document', source: { type: 'content', content: [{ ...text, ...control }] } }),
    ],
    [
      'on a block in a document in the result of a tool',
      (control) =>
        saying({
          type: 'tool_result',
          content: [{ type: 'document', source: { type: 'content', content: [{ ...text, ...control }] } }],
        }),
    ],
    ['on what nobody knows', (control) => ({ next: { deep: [[{ ...control }]] } })],
    [
      'on a block in the result of a tool',
      (control) => saying({ type: 'tool_result', content: [{ type: 'text', text: 'x', ...control }] }),
    ],
  ];

  it('sees a cache whose name is spelled with escapes', () => {
    const text = '{"model":"m","max_tokens":1,"messages":[],"cache\\u005fcontrol":{"ttl":"1h"}}';
    expect(requestSize(messageRequestSchema.parse(JSON.parse(text)), Buffer.from(text)).cache).toBe('1h');
  });

  it.each(places)('sees a cache %s, and for how long', (_title, place) => {
    expect(sizeOf(place({})).cache).toBe(null);
    expect(sizeOf(place({ cache_control: null })).cache).toBe(null);
    expect(sizeOf(place(FIVE)).cache).toBe('5m');
    expect(sizeOf(place({ cache_control: { ttl: '5m' } })).cache).toBe('5m');
    expect(sizeOf(place(HOUR)).cache).toBe('1h');
    // A lifetime that nobody knows is the dearest.
    expect(sizeOf(place({ cache_control: { ttl: '2h' } })).cache).toBe('1h');
  });

  it('takes the longest cache, in whatever order they stand', () => {
    const text = { type: 'text', text: 'x' };
    expect(sizeOf(saying({ ...text, ...HOUR }, { ...text, ...FIVE }, text)).cache).toBe('1h');
    expect(sizeOf({ ...FIVE, ...saying({ ...text, ...HOUR }) }).cache).toBe('1h');
  });

  it('does not go through a request whose escapes cannot spell the name of a cache', () => {
    const body = Buffer.from('"\\u0061" "\\u00e9" "cache\\u005fcontro"');
    const request = { ...BARE, metadata: {}, next: null, service_tier: untouchable };
    expect(requestSize(request, body).cache).toBe(null);
    expect(() => requestSize(request, NAMED)).toThrow('was gone through');
  });

  it('does not look for a cache in what is data: metadata, the schema of a tool, the input of a call', () => {
    const call = { type: 'tool_use', id: 't', name: 'n', input: untouchable };
    const more = { metadata: untouchable, tools: [{ name: 't', input_schema: untouchable }], ...saying(call) };
    expect(requestSize({ ...BARE, ...more } as never, NAMED).cache).toBe(null);
    expect(sizeOf(saying({ type: 'next_kind', input: HOUR })).cache).toBe('1h');
  });

  it('stops at the dearest cache', () => {
    const first = { ...BARE, ...HOUR, service_tier: untouchable };
    expect(requestSize(first, NAMED).cache).toBe('1h');
  });
});
