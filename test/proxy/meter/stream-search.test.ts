import { describe, expect, it, vi } from 'vitest';
import { EVENT_BYTES_MAX } from '../../../proxy/meter/limits.ts';
import { StreamSearch } from '../../../proxy/meter/stream-search.ts';
import { millitokensOf } from '../../../proxy/tokens/text-tokens.ts';
import { deltaEvent, event, STOP_EVENT, usageEvent } from './streams.ts';

function found(text: string, search = new StreamSearch()): string[] {
  const events: string[] = [];
  search.search(Buffer.from(text), {
    event: (bytes, { from, to }) => events.push(bytes.toString('utf8', from, to)),
    text: () => undefined,
  });
  return events;
}

/** What the deltas of a stream are worth, searched in one piece, and event by event. */
function weighed(events: readonly string[]): [number, number] {
  const weigh = (pieces: readonly string[]): number => {
    const search = new StreamSearch();
    let sum = 0;
    const findings = { event: () => undefined, text: (millitokens: number) => (sum += millitokens) };
    for (const piece of pieces) search.search(Buffer.from(piece), findings);
    return sum;
  };
  return [weigh([events.join('')]), weigh(events)];
}

const delta = (fields: Record<string, unknown>, index = 0): string =>
  event('content_block_delta', { type: 'content_block_delta', index, delta: fields });
const input = (json: string): string => delta({ type: 'input_json_delta', partial_json: json }, 1);

describe('usage events', () => {
  it('are found whole, in order and once each', () => {
    const error = event('error', { type: 'error', error: { type: 'error', message: 'message_stop' } });
    const usage = usageEvent({ output_tokens: 1 });
    expect(found(deltaEvent('é') + usage + deltaEvent('漢') + error + STOP_EVENT)).toEqual([usage, error, STOP_EVENT]);
  });

  it('are not looked for in what a model says, whatever it says', () => {
    const said = ['"message_stop"', 'event: error\n', '\n\nevent: message_delta\n', '{"type":"error"}', ' error'];
    for (const text of said) expect(found(deltaEvent(text).repeat(3))).toEqual([]);
  });

  it('are found by name alone and by type alone', () => {
    for (const text of ['event:error\ndata: x\n\n', 'data: x\nevent: error\n\n', 'data: {"type": "message_start"}\n\n'])
      expect(found(text)).toEqual([text]);
  });

  it('are found where an event begins like the delta before it', () => {
    const sly =
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}\nevent: message_stop\n\n';
    expect(found(deltaEvent('a').repeat(2) + sly + deltaEvent('b'))).toEqual([sly]);
  });
});

describe('the text of deltas', () => {
  const said = ['Hello', ' "quoted"\n\tand \\ escaped', ' 漢字 und Grüße', ' 👩‍💻', '', ' 3.14159', ' Привет'];
  const worth = said.reduce((sum, text) => sum + millitokensOf(text), 0);

  it.each<[string, (text: string) => string]>([
    ['text', deltaEvent],
    ['thinking', (text) => delta({ type: 'thinking_delta', thinking: text })],
    ["a tool's input", input],
    ['text that stands before its type', (text) => delta({ text, type: 'text_delta' })],
    ['fields after a space', (text) => deltaEvent(text).replaceAll('":', '": ').replaceAll(',"', ', "')],
    ['events without a name', (text) => deltaEvent(text).replace(/^event: .*\n/, '')],
    ['ASCII with escapes', (text) => deltaEvent(text).replace(/[\u0080-\uffff]/g, escaped)],
    ['blocks that take turns', (text) => (text.length % 2 === 0 ? deltaEvent(text) : input(text))],
  ])('is weighed as what it says, in one piece and in many: %s', (_form, write) => {
    const events = said.map((text) => write(text).replaceAll('": ', '": '));
    expect(weighed([...events, 'event: ping\ndata: {}\n\n', ...events])).toEqual([2 * worth, 2 * worth]);
  });

  it('is no signature, citation, block of the start, ping, usage or comment', () => {
    const others = [
      delta({ type: 'signature_delta', signature: 'c2lnbmF0dXJl'.repeat(20) }),
      delta({ type: 'citations_delta', citation: { cited_text: 'cited', title: 'text' } }),
      event('content_block_start', {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'text', text: '' },
      }),
      'event: ping\ndata: {"type": "ping"}\n\n',
      ': a comment that says "delta":{"text":\n\n',
      usageEvent({ output_tokens: 4 }),
    ];
    expect(weighed([...others, deltaEvent('x'), ...others, deltaEvent('x')])).toEqual([300, 300]);
  });

  it('of an event that is too long to be kept is left to who reads its beginning', () => {
    const long = deltaEvent('a'.repeat(EVENT_BYTES_MAX));
    expect(weighed([deltaEvent('a'), deltaEvent('a'), long, deltaEvent('a')])).toEqual([450, 450]);
    expect(found(deltaEvent('a') + long + deltaEvent('a') + long)).toEqual([long, long]);
  });
});

describe('an event that says text otherwise', () => {
  const plain = deltaEvent('text');
  it.each<[string, string]>([
    ['with more spaces', plain.replace('"delta":', '"delta":  ').replace('"text":"', '"text":   "')],
    ['with a field before the text', plain.replace('"text":"', '"index":0,"text":"')],
    ['in several lines of data', plain.replace('"delta":', '"delta":\ndata: ')],
    ['with an escaped name', plain.replace('"text":"', '"t\\u0065xt":"')],
    ['with two texts', plain.replace('"text":"text"', '"text":"a"},"delta":{"text":"text"')],
    ['with a word of usage', plain.replace('"index":0', '"index":0,"x":"message_s"')],
    ['as the beginning of a block', event('content_block_start', { content_block: { type: 'text', text: '' } })],
    ['as the input of a block', event('content_block_start', { content_block: { type: 'tool_use', input: {} } })],
  ])('is to be read: %s', (_how, other) => {
    expect(found(plain + other + plain)).toEqual([other]);
    expect(weighed([plain, other, plain])).toEqual([2 * millitokensOf('text'), 2 * millitokensOf('text')]);
  });

  it('is none that says nothing', () => {
    const stop = event('content_block_stop', { type: 'content_block_stop', index: 0 });
    const signature = delta({ type: 'signature_delta', signature: 'c2ln' });
    expect(found(`event: ping\ndata: {}\n\n${plain}${stop}${signature}\n\n\n: comment\n\n`)).toEqual([]);
  });
});

it('an event that is full of words has its ends looked for once, however many they are', () => {
  const words = `data: ${'delta":{"text":"'.repeat(200)}`;
  const lookups = (text: string): number => {
    const [before, after] = [vi.spyOn(String.prototype, 'lastIndexOf'), vi.spyOn(String.prototype, 'indexOf')];
    try {
      weighed([text]);
      const ofBlankLine = [...before.mock.calls, ...after.mock.calls].filter(([sought]) => sought === '\n\n');
      return ofBlankLine.length;
    } finally {
      before.mockRestore();
      after.mockRestore();
    }
  };
  // Both searches of `weighed`.
  expect(lookups(`${words}\n\n`)).toBe(2);
  expect(lookups(`${words}\n\n${words}\n\n`)).toBe(4);
});

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
