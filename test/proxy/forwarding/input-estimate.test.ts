import { describe, expect, it } from 'vitest';
import { microUsd, rate } from '../../../contracts/money.ts';
import { rateCard, ratesFrom } from '../../../contracts/rate-card.ts';
import { NO_TOKENS } from '../../../contracts/usage.ts';
import { type EndedRequest, endingOf } from '../../../proxy/forwarding/ending.ts';
import { estimateInput } from '../../../proxy/forwarding/input-estimate.ts';
import { USE_NAMES_MAX } from '../../../proxy/meter/limits.ts';
import { noteMalformed, nothingSeen, type SeenUsage, takeUsage } from '../../../proxy/meter/seen-usage.ts';
import { weighInput } from '../../../proxy/request-body/input-weight.ts';
import { READ_AT_ONCE_BYTES_MAX } from '../../../proxy/request-body/limits.ts';
import { factsOf } from '../../../proxy/request-body/request-facts.ts';
import { IMAGE_TOKENS_ESTIMATE_MAX, imageTokens } from '../../../proxy/tokens/image-tokens.ts';
import { millitokensOf } from '../../../proxy/tokens/text-tokens.ts';
import { NO_SECRETS } from '../../../proxy/upstream/upstream-words.ts';

const rates = ratesFrom(rate(3_000_000n), rate(15_000_000n));
if (rates === null) throw new Error('the prices have whole cache rates');
const card = rateCard('model-1', 1, rates, 2);
const prose = 'A new water treatment plant, which has been delayed twice. '.repeat(20);
const worth = Math.floor(millitokensOf(prose) / 1_000);

const estimated = (
  request: unknown,
  more: { counted?: number; caching?: 'none' | 'explicit' | 'automatic'; window?: number } = {},
) =>
  estimateInput({
    bytes: { whole: Buffer.from(JSON.stringify(request)) },
    facts: { inputWeight: null },
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

  it.each<[string, object]>([
    ['an object as content', user([{ type: 'tool_result', content: { type: 'text', text: prose } }])],
    ['what was fetched', user([{ type: 'web_fetch_tool_result', content: { content: { title: prose } } }])],
    ['what code wrote', user([{ type: 'code_execution_tool_result', content: { stdout: prose } }])],
    ['strings as content', user([{ type: 'tool_result', content: [prose] }])],
    ['a block that nobody knows', user([{ type: 'next_kind', next: { deep: [prose] } }])],
    ['a field of a message', { messages: [{ role: 'user', content: '', next: prose }] }],
    ['a field that nobody knows', { ...user(''), next: [{ deep: prose }] }],
    ['a field of a block of the system', { ...user(''), system: [{ type: 'text', text: '', next: prose }] }],
    ['a field of a tool', { ...user(''), tools: [{ type: 'custom', next: [prose] }] }],
  ])('is the text of %s', (_where, request) => {
    expect(estimated(request)).toEqual({ ...NO_TOKENS, input: worth });
  });

  it.each<[string, object]>([
    ['a tool that is added', user([{ type: 'tool_addition', tool: { definition: { input_schema: { a: prose } } } }])],
    ['the name of a field in a schema', { ...user(''), tools: [{ name: 'n', input_schema: { [prose]: 1 } }] }],
    ['examples of input', { ...user(''), tools: [{ name: 'n', input_examples: [{ type: prose }] }] }],
    ['the format of the output', { ...user(''), output_config: { format: { schema: { description: prose } } } }],
    [
      'the older format of the output',
      { ...user(''), output_format: { type: 'json_schema', schema: { [prose]: {} } } },
    ],
  ])('is the JSON of %s', (_where, request) => {
    const { input } = estimated(request);
    expect(input).toBeGreaterThanOrEqual(worth);
    expect(input).toBeLessThan(worth + 20);
  });

  it.each<[string, object]>([
    ['base64 in a document', user([{ type: 'document', source: { type: 'base64', data: prose } }])],
    ['an address of a document', user([{ type: 'document', source: { type: 'url', url: prose } }])],
  ])('counts pages, not %s', (_what, request) => {
    expect(estimated(request)).toEqual({ ...NO_TOKENS, input: 1_500 });
  });

  it.each<[string, object]>([
    ['base64 of a kind that nobody knows', user([{ type: 'next_kind', source: { type: 'base64', data: prose } }])],
    ['ids', user([{ type: 'tool_result', tool_use_id: prose, content: '' }])],
    ['what is encrypted', user([{ type: 'web_search_result', encrypted_content: prose }])],
    ['what a citation repeats', user([{ type: 'text', text: '', citations: [{ cited_text: prose }] }])],
    ['metadata', { ...user(''), metadata: { user_id: prose } }],
  ])('counts nothing for %s', (_what, request) => {
    expect(estimated(request)).toEqual({ ...NO_TOKENS, input: 1 });
  });

  it('is what its tokens cost, one at the least: a short request is not free', () => {
    expect(estimated(user('Hi')).input).toBe(1);
    expect(estimated(user('x'.repeat(14))).input).toBe(2);
    expect(estimated(user('')).input).toBe(1);
  });

  it('is not parsed once more where a thread has read it: it was weighed when it was parsed', () => {
    const weightOf = (request: object, windowMax: number | null = 200_000) => {
      const body = Buffer.from(JSON.stringify({ model: 'm', max_tokens: 1, ...request }));
      const facts = factsOf('message', body, windowMax);
      if (facts.type === 'refusal') throw new Error(facts.message);
      return facts.inputWeight;
    };
    expect(weightOf(user('x'), null)).toBe(null);
    expect(weightOf(user('x'))).toEqual({ millitokens: 150, asksForCache: false });
    const inputWeight = weightOf({ ...user('x'.repeat(READ_AT_ONCE_BYTES_MAX)), next: { cache_control: {} } });
    expect(inputWeight).toEqual({ millitokens: READ_AT_ONCE_BYTES_MAX * 150, asksForCache: false });
    const terms = { contextWindow: 200_000, rateCard: card };
    const bytes = { whole: Buffer.from('not read') };
    const asked = { bytes, facts: { inputWeight }, inputTokensCounted: null, terms };
    expect(estimateInput({ ...asked, model: { caching: 'explicit' } }).input).toBe(9_830);
  });

  it('weighs no more text than fills the window, whatever it stands in', () => {
    const chunk = 'x'.repeat(1_000);
    for (const content of [
      chunk.repeat(100),
      Array.from({ length: 100 }, () => ({ type: 'text', text: chunk })),
      [{ type: 'tool_use', input: { [chunk.repeat(100)]: 1 } }],
      [{ type: 'tool_use', input: chunk.repeat(100) }],
      [{ type: 'tool_use', input: Array.from({ length: 100 }, () => [chunk]) }],
    ]) {
      const { millitokens } = weighInput(user(content), 300);
      expect(millitokens).toBeGreaterThanOrEqual(300_000);
      expect(millitokens).toBeLessThan(310_000);
    }
  });

  it('counts JSON inputs and schemas, and nothing for thinking, base64 and what lies elsewhere', () => {
    expect(estimated(user([{ type: 'tool_use', id: 'a', name: 'n', input: { path: prose } }])).input).toBeGreaterThan(
      worth,
    );
    expect(
      estimated({ ...user(''), tools: [{ name: 'n', input_schema: { description: prose } }] }).input,
    ).toBeGreaterThan(worth);
    for (const type of ['thinking', 'redacted_thinking'])
      expect(estimated(user([{ type, thinking: prose, data: prose, signature: prose }])).input).toBe(1);
    const pdf = { type: 'base64', media_type: 'application/pdf', data: prose.repeat(100) };
    expect(estimated(user([{ type: 'document', source: pdf }])).input).toBe(1_500);
    expect(estimated(user([{ type: 'image', source: { type: 'url', url: 'https://a' } }])).input).toBe(
      IMAGE_TOKENS_ESTIMATE_MAX,
    );
  });

  it('is that of an image by its size, not by its bytes', () => {
    const png = Buffer.alloc(300_000, 7);
    png.write('89504e470d0a1a0a0000000d494844520000011800000230', 'hex');
    const source = { type: 'base64', media_type: 'image/png', data: png.toString('base64') };
    expect(estimated(user([{ type: 'image', source }]))).toEqual({ ...NO_TOKENS, input: 200 });
  });

  it("is the provider's count where there is one, and never above the model's window", () => {
    expect(estimated(user(prose), { counted: 77 }).input).toBe(77);
    expect(estimated(user(prose), { window: 100 }).input).toBe(100);
  });

  const cache_control = { type: 'ephemeral', ttl: '1h' };
  const inner = [{ type: 'text', text: prose, cache_control }];

  it.each<[string, object]>([
    ['itself', { ...user(prose), cache_control }],
    ['a block', user(inner)],
    ['a block in a document', user([{ type: 'document', source: { type: 'content', content: inner } }])],
    ['a block in a result', user([{ type: 'tool_result', content: inner }])],
    ['the system', { ...user(''), system: inner }],
    ['a tool', { ...user(prose), tools: [{ name: '', cache_control }] }],
  ])('is billed as read from the cache where %s says so, of a model that caches', (_where, request) => {
    expect(estimated(request, { caching: 'explicit' })).toEqual({ ...NO_TOKENS, cacheRead: worth });
    expect(estimated(request, { caching: 'none' })).toEqual({ ...NO_TOKENS, input: worth });
  });

  it('is billed as read from the cache where the model caches by itself', () => {
    expect(estimated(user(prose), { caching: 'automatic' })).toEqual({ ...NO_TOKENS, cacheRead: worth });
  });

  const text = { type: 'text', text: prose };
  it.each<[string, object]>([
    ['a field that nobody knows', { ...user(prose), next: { cache_control } }],
    ['the choice of a tool', { ...user(prose), tool_choice: { type: 'auto', cache_control } }],
    ['metadata', { ...user(prose), metadata: { cache_control } }],
    ['a message', { messages: [{ role: 'user', content: prose, cache_control }] }],
    ['a source', user([{ type: 'document', source: { type: 'text', data: prose, cache_control } }])],
    ['a field of a block', user([{ ...text, next: { content: [{ type: 'text', cache_control }] } }])],
    ['a citation', user([{ ...text, citations: [{ cache_control }] }])],
    ['data', user([text, { type: 'tool_use', id: 'a', name: '', input: { cache_control } }])],
  ])('is billed as plain input where cache_control stands where no provider looks: in %s', (_where, request) => {
    expect(estimated(request, { caching: 'explicit' }).cacheRead).toBe(0);
    expect(estimated(request, { caching: 'explicit' }).input).toBeGreaterThanOrEqual(worth);
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
    ['a huge square PNG', '89504e470d0a1a0a 0000000d 49484452 00001f40 00001f40', IMAGE_TOKENS_ESTIMATE_MAX],
    ['no image', '00112233', IMAGE_TOKENS_ESTIMATE_MAX],
    ['a cut JPEG', 'ffd8 ffe0 ffff', IMAGE_TOKENS_ESTIMATE_MAX],
    ['an empty PNG', '89504e470d0a1a0a 0000000d 49484452 00000000 00000230', IMAGE_TOKENS_ESTIMATE_MAX],
  ])('costs a token for each patch that it has: %s', (_form, hex, expected) => {
    expect(imageTokens(base64(hex, 20))).toBe(expected);
  });

  it('costs the most where there are no bytes', () => {
    expect(imageTokens('')).toBe(IMAGE_TOKENS_ESTIMATE_MAX);
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
      expect(ended({ outcome, estimateInput })).toMatchObject({ tokens: NO_TOKENS, billable: false });
  });

  it('is called reported where its upstream has said something of its usage, and nowhere else', () => {
    for (const outcome of ['upstream_refused', 'upstream_interrupted'] as const)
      for (const [said, source] of [
        [null, 'estimated'],
        [seen({ textMillitokens: 5_000, model: 'm' }), 'estimated'],
        [seen({ inputTokens: 0 }), 'reported'],
        [seen({ outputTokens: 7 }), 'reported'],
        [seen({ cacheReadTokens: 3 }), 'reported'],
        [seen({ cacheCreationTokens: 2 }), 'reported'],
        [seen({ cacheCreation5mTokens: 1 }), 'reported'],
        [seen({ cacheCreation1hTokens: 1 }), 'reported'],
        [seen({ uses: { web_search_requests: 2 } }), 'reported'],
      ] as const)
        expect(ended({ outcome, seen: said, chargeInterrupted: 'reported' })).toMatchObject({ source });
  });

  it('counts cached input that was reported as part of the estimate', () => {
    const tokensOf = (more: Partial<SeenUsage>) => ended({ seen: seen(more) }).tokens;
    expect(tokensOf({ cacheCreationTokens: 20 })).toEqual({ ...NO_TOKENS, cacheRead: 30, cacheWrite5m: 20 });
    expect(tokensOf({ cacheReadTokens: 80 })).toEqual({ ...NO_TOKENS, cacheRead: 80 });
  });

  it('leaves what was reported and cannot be read to an operator', () => {
    const unpricedFor = (usage: unknown) => {
      const said = nothingSeen();
      takeUsage(said, usage, 'usage', NO_SECRETS);
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
    const kinds = (length: number) =>
      Object.fromEntries(Array.from({ length }, (_, index) => [`kind_${index}_requests`, 1]));
    const many = kinds(USE_NAMES_MAX + 1);
    expect(unpricedFor({ output_tokens: 1, server_tool_use: many })).toContain(
      `usage.server_tool_use.kind_${USE_NAMES_MAX}_requests: 1 cannot be read`,
    );
  });

  it('bills a use that has a price, whatever stands before it', () => {
    const uses = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`kind_${index}_requests`, 1]));
    const said = nothingSeen();
    takeUsage(
      said,
      { input_tokens: 1, output_tokens: 1, server_tool_use: { ...uses, web_search_requests: 3 } },
      'usage',
      NO_SECRETS,
    );
    const priced = rateCard('model-1', 1, rates, 2, { web_search_requests: rate(10_000_000_000n) });
    const ending = ended({ outcome: 'completed', seen: said, isFinal: true, card: priced });
    expect(ending).toMatchObject({ source: 'reported', uses: { web_search_requests: 3 } });
    expect(ending.unpriced).toHaveLength(40);
  });

  it('leaves what cannot be read to an operator also where it is not charged, but no body that reports nothing', () => {
    const said = nothingSeen();
    takeUsage(
      said,
      { input_tokens: 1, output_tokens: -1, server_tool_use: { web_search_requests: 1 } },
      'usage',
      NO_SECRETS,
    );
    noteMalformed(said, 'body');
    const interrupted = ended({ outcome: 'upstream_interrupted', seen: said });
    expect(interrupted).toMatchObject({ billable: false, unpriced: ['usage.output_tokens: -1 cannot be read'] });
    expect(Object.keys(interrupted)).not.toContain('uses');
    const garbled = nothingSeen();
    noteMalformed(garbled, 'body');
    expect(Object.keys(ended({ outcome: 'upstream_interrupted', seen: garbled }))).not.toContain('unpriced');
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
