import { describe, expect, it } from 'vitest';
import { microUsd, rate } from '../../../contracts/money.ts';
import { rateCard, ratesFrom } from '../../../contracts/rate-card.ts';
import { NO_TOKENS } from '../../../contracts/usage.ts';
import { nothingSeen, type SeenUsage, takeUsage } from '../../../proxy/meter/seen-usage.ts';
import { millitokensOf } from '../../../proxy/meter/text-tokens.ts';
import { type EndedRequest, endingOf } from '../../../proxy/relay/ending.ts';
import { IMAGE_TOKENS_MAX, imageTokens } from '../../../proxy/relay/image-tokens.ts';
import { estimateInput } from '../../../proxy/relay/input-estimate.ts';

const rates = ratesFrom(rate(3_000_000n), rate(15_000_000n));
if (rates === null) throw new Error('the prices have whole cache rates');
const card = rateCard('model-1', 1, rates, 2);
const prose = 'A new water treatment plant, which has been delayed twice. '.repeat(20);
const worth = Math.floor(millitokensOf(prose) / 1_000);

const estimated = (
  request: unknown,
  more: { counted?: number; caching?: 'none' | 'automatic'; window?: number } = {},
) =>
  estimateInput({
    body: Buffer.from(JSON.stringify(request)),
    inputTokensCounted: more.counted ?? null,
    model: { caching: more.caching ?? 'none' },
    terms: { contextWindow: more.window ?? 200_000, rateCard: card },
  });
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });

describe('the input of a request, estimated', () => {
  it('is the text of system, messages, tools and what they hold', () => {
    const [first, second] = [prose.slice(0, 500), prose.slice(500)];
    const forms = [
      user(prose),
      user([{ type: 'text', text: prose }]),
      { ...user(''), system: prose },
      { ...user(second), system: [{ type: 'text', text: first }] },
      user([{ type: 'tool_result', tool_use_id: 'toolu_1', content: prose }]),
      user([{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: prose }] }]),
      user([{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: prose } }]),
      user([{ type: 'document', source: { type: 'content', content: [{ type: 'text', text: prose }] } }]),
      { ...user(''), tools: [{ name: '', description: prose }] },
    ];
    for (const form of forms) expect(estimated(form)).toEqual({ ...NO_TOKENS, input: worth });
  });

  it('counts JSON inputs and schemas, and nothing for thinking, base64 and what lies elsewhere', () => {
    expect(estimated(user([{ type: 'tool_use', id: 'a', name: 'n', input: { path: prose } }])).input).toBeGreaterThan(
      worth,
    );
    expect(
      estimated({ ...user(''), tools: [{ name: 'n', input_schema: { description: prose } }] }).input,
    ).toBeGreaterThan(worth);
    for (const type of ['thinking', 'redacted_thinking'])
      expect(estimated(user([{ type, thinking: prose, data: prose, signature: prose }])).input).toBe(0);
    const pdf = { type: 'base64', media_type: 'application/pdf', data: prose.repeat(100) };
    expect(estimated(user([{ type: 'document', source: pdf }])).input).toBe(1_500);
    expect(estimated(user([{ type: 'image', source: { type: 'url', url: 'https://a' } }])).input).toBe(
      IMAGE_TOKENS_MAX,
    );
  });

  it("is the provider's count where there is one, and never above the model's window", () => {
    expect(estimated(user(prose), { counted: 77 }).input).toBe(77);
    expect(estimated(user(prose), { window: 100 }).input).toBe(100);
  });

  it('is billed as read from the cache where that may be, wherever the request says so', () => {
    const cache_control = { type: 'ephemeral', ttl: '1h' };
    const cached = { ...NO_TOKENS, cacheRead: worth };
    expect(estimated(user(prose), { caching: 'automatic' })).toEqual(cached);
    expect(estimated({ ...user(prose), cache_control })).toEqual(cached);
    expect(estimated(user([{ type: 'text', text: prose, cache_control }]))).toEqual(cached);
    const inner = [{ type: 'text', text: prose, cache_control }];
    expect(estimated(user([{ type: 'document', source: { type: 'content', content: inner } }]))).toEqual(cached);
    const tool = { type: 'tool_use', id: 'a', name: '', input: { cache_control: {} } };
    expect(estimated(user([{ type: 'text', text: prose }, tool])).cacheRead).toBe(0);
  });
});

describe('an image', () => {
  const base64 = (hex: string, more = 0): string =>
    Buffer.concat([Buffer.from(hex.replaceAll(' ', ''), 'hex'), Buffer.alloc(more)]).toString('base64');

  it.each([
    ['PNG', '89504e470d0a1a0a 0000000d 49484452 00000118 00000230', 10 * 20],
    ['GIF', '474946383961 1801 3002', 10 * 20],
    ['lossy WebP', '52494646 00000000 57454250 56503820 00000000 000000 9d012a 1801 3002', 10 * 20],
    ['lossless WebP', '52494646 00000000 57454250 5650384c 00000000 2f 17c18b00', 10 * 20],
    ['extended WebP', '52494646 00000000 57454250 56503858 0a000000 00000000 170100 2f0200', 10 * 20],
    ['JPEG', 'ffd8 ffe0 0006 00000000 ffc4 0004 0000 ffc0 0011 08 0230 0118', 10 * 20],
    ['a large PNG, scaled down', '89504e470d0a1a0a 0000000d 49484452 00001f40 000003e8', 56 * 7],
    ['a huge square PNG', '89504e470d0a1a0a 0000000d 49484452 00001f40 00001f40', IMAGE_TOKENS_MAX],
    ['no image', '00112233', IMAGE_TOKENS_MAX],
    ['a cut JPEG', 'ffd8 ffe0 ffff', IMAGE_TOKENS_MAX],
    ['an empty PNG', '89504e470d0a1a0a 0000000d 49484452 00000000 00000230', IMAGE_TOKENS_MAX],
  ])('costs a token for each patch that it has: %s', (_form, hex, expected) => {
    expect(imageTokens(base64(hex, 20))).toBe(expected);
  });

  it('costs the most where there are no bytes', () => {
    expect(imageTokens('')).toBe(IMAGE_TOKENS_MAX);
  });
});

describe('an ending', () => {
  const seen = (more: Partial<SeenUsage>): SeenUsage => ({ ...nothingSeen(), ...more });
  const ended = (more: Partial<EndedRequest>) =>
    endingOf({
      outcome: 'client_disconnected',
      upstream: { provider: 'p', model: 'm', requestId: null },
      seen: null,
      isFinal: false,
      maxTokens: 100,
      estimateInput: () => ({ ...NO_TOKENS, cacheRead: 50 }),
      card,
      hold: null,
      mayRunFast: false,
      chargeInterrupted: 'none',
      nowMs: 0,
      ...more,
    });

  it('asks for an estimate of the input only where none was reported', () => {
    const estimateInput = () => {
      throw new Error('it is not needed');
    };
    const known = seen({ inputTokens: 10, outputTokens: 5 });
    expect(ended({ seen: known, isFinal: true, estimateInput })).toMatchObject({ source: 'reported' });
    expect(ended({ seen: known, estimateInput })).toMatchObject({ source: 'estimated', tokens: { input: 10 } });
    for (const outcome of ['upstream_refused', 'upstream_interrupted'] as const)
      expect(ended({ outcome, estimateInput })).toMatchObject({
        source: 'reported',
        tokens: NO_TOKENS,
        billable: false,
      });
  });

  it('counts cached input that was reported as part of the estimate', () => {
    const tokensOf = (more: Partial<SeenUsage>) => ended({ seen: seen(more) }).tokens;
    expect(tokensOf({ cacheCreationTokens: 20 })).toEqual({ ...NO_TOKENS, cacheRead: 30, cacheWrite5m: 20 });
    expect(tokensOf({ cacheReadTokens: 80 })).toEqual({ ...NO_TOKENS, cacheRead: 80 });
  });

  it('leaves what was reported and cannot be read to an operator', () => {
    const unpricedFor = (usage: unknown) => {
      const said = nothingSeen();
      takeUsage(said, usage, 'usage');
      return ended({ outcome: 'completed', seen: said, isFinal: true }).unpriced;
    };
    for (const [value, shown] of [
      [2 ** 53, '9007199254740992'],
      [1e16, '10000000000000000'],
      [Number.POSITIVE_INFINITY, 'Infinity'],
      ['5000', '"5000"'],
      [-1, '-1'],
      [7.5, '7.5'],
      [{}, 'an object'],
    ])
      expect(unpricedFor({ input_tokens: 1, output_tokens: value })).toEqual([
        `usage.output_tokens: ${shown} cannot be read`,
      ]);
    expect(unpricedFor({ output_tokens: 1, server_tool_use: { web_search_requests: '5' } })).toEqual([
      'usage.server_tool_use: "5" cannot be read',
    ]);
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`kind_${index}_requests`, 1]));
    expect(unpricedFor({ output_tokens: 1, server_tool_use: many })).toContain(
      'usage.server_tool_use.kind_16_requests: 1 cannot be read',
    );
  });

  it('takes text above what was reported, up to max_tokens, unless the report is the last word', () => {
    const output = (textMillitokens: number, isFinal = false) =>
      ended({ seen: seen({ inputTokens: 1, outputTokens: 7, malformed: ['x'], textMillitokens }), isFinal }).tokens
        .output;
    expect([output(0), output(9_900), output(900_000), output(900_000, true)]).toEqual([7, 9, 100, 7]);
  });

  it('lowers what is estimated, and nothing that was reported, until it fits the hold', () => {
    const of = (hold: bigint) =>
      ended({ seen: seen({ cacheReadTokens: 10, outputTokens: 2, textMillitokens: 50_000 }), hold: microUsd(hold) })
        .tokens;
    // 40 more of cached input are 12 micro-USD, 48 more of output are 720; 33 were reported.
    expect(of(765n)).toEqual({ ...NO_TOKENS, cacheRead: 50, output: 50 });
    expect(of(764n)).toEqual({ ...NO_TOKENS, cacheRead: 50, output: 49 });
    expect(of(40n)).toEqual({ ...NO_TOKENS, cacheRead: 33, output: 2 });
    expect(of(1n)).toEqual({ ...NO_TOKENS, cacheRead: 10, output: 2 });
  });
});
