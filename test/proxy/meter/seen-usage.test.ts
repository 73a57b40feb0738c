import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../contracts/limits.ts';
import { MALFORMED_MAX, USE_NAMES_LOOKED_AT_MAX, USE_NAMES_MAX } from '../../../proxy/meter/limits.ts';
import { isReported, nothingSeen, takeUsage, tokenCounts } from '../../../proxy/meter/seen-usage.ts';
import { NO_SECRETS } from '../../../proxy/upstream/upstream-words.ts';

const seenFrom = (...usages: readonly unknown[]) => {
  const seen = nothingSeen();
  for (const usage of usages) takeUsage(seen, usage, 'usage', NO_SECRETS);
  return seen;
};

const split = (in5m: number | null, in1h: number | null) => ({
  ephemeral_5m_input_tokens: in5m,
  ephemeral_1h_input_tokens: in1h,
});

describe('token counts', () => {
  it('invariant 12: tokens: keep cache tokens apart from input tokens', () => {
    const seen = seenFrom({ input_tokens: 10, output_tokens: 2, cache_read_input_tokens: 500 });
    expect(tokenCounts(seen)).toEqual({ input: 10, output: 2, cacheRead: 500, cacheWrite5m: 0, cacheWrite1h: 0 });
  });

  it('are none where nothing was said', () => {
    const none = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
    expect(tokenCounts(nothingSeen())).toEqual(none);
  });

  it.each([
    { what: 'no split: all is 5-minute', total: 90, cache: null, in5m: 90, in1h: 0 },
    { what: 'a whole split', total: 90, cache: split(50, 40), in5m: 50, in1h: 40 },
    { what: 'a split that lacks some: the rest is 5-minute', total: 90, cache: split(20, 40), in5m: 50, in1h: 40 },
    { what: 'only the 1-hour part', total: 90, cache: split(null, 40), in5m: 50, in1h: 40 },
    { what: 'a split above the total: the split stands', total: 10, cache: split(20, 40), in5m: 20, in1h: 40 },
    { what: 'a split without a total', total: null, cache: split(20, 40), in5m: 20, in1h: 40 },
  ])('of cache writes, with $what', ({ total, cache, in5m, in1h }) => {
    const counts = tokenCounts(seenFrom({ cache_creation_input_tokens: total, cache_creation: cache }));
    expect(counts).toMatchObject({ cacheWrite5m: in5m, cacheWrite1h: in1h });
  });

  it('invariant 12: tokens: of cache writes add up to the greater of the total and the split', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(), (total, in5m, in1h) => {
        const seen = seenFrom({ cache_creation_input_tokens: total, cache_creation: split(in5m, in1h) });
        const { cacheWrite5m, cacheWrite1h } = tokenCounts(seen);
        expect(cacheWrite5m + cacheWrite1h).toBe(Math.max(total, in5m + in1h));
        expect(cacheWrite1h).toBe(in1h);
      }),
    );
  });
});

describe('usage', () => {
  it('is reported once input and output were said and nothing is malformed', () => {
    expect(isReported(seenFrom({ input_tokens: 1 }))).toBe(false);
    expect(isReported(seenFrom({ input_tokens: 1 }, { output_tokens: 0 }))).toBe(true);
    expect(isReported(seenFrom({ input_tokens: 1, output_tokens: 1, cache_read_input_tokens: -1 }))).toBe(false);
  });

  it.each([-1, 0.5, '3', true, [], {}, 2 ** 53])('does not take %j for a number of tokens', (value) => {
    const seen = seenFrom({ input_tokens: 5 }, { input_tokens: value });
    expect(seen.inputTokens).toBe(5);
    expect(seen.malformed).toEqual(['usage.input_tokens']);
  });

  it('names a part that has another shape than it should', () => {
    expect(seenFrom('none').malformed).toEqual(['usage']);
    expect(seenFrom({ cache_creation: 3, service_tier: 1 }).malformed).toEqual([
      'usage.cache_creation',
      'usage.service_tier',
    ]);
  });
});

describe('uses that are billed by the use', () => {
  const used = (...uses: readonly unknown[]) => seenFrom(...uses.map((one) => ({ server_tool_use: one }))).uses;

  it('are cumulative: the last word on each stands', () => {
    expect(used()).toBe(null);
    expect(used(null, undefined)).toBe(null);
    expect(used({ web_search_requests: 1, web_fetch_requests: 4 }, null, { web_search_requests: 3 })).toEqual({
      web_search_requests: 3,
      web_fetch_requests: 4,
    });
    expect(used({ web_search_requests: 2 }, { web_search_requests: null })).toEqual({ web_search_requests: 2 });
  });

  it('that are no numbers are malformed', () => {
    for (const uses of [3, 'x', [], { web_search_requests: '3' }, { web_search_requests: -1 }])
      expect(seenFrom({ server_tool_use: uses }).malformed).toEqual(['usage.server_tool_use']);
  });

  it('under a name that is none are kept under one, and as many names as an answer can honestly have', () => {
    expect(used({ 'Über-Suche': 2 })).toEqual({ use__ber_suche: 2 });
    const many = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`kind_${index}_requests`, 1]));
    expect(Object.keys(used(many, { kind_0_requests: 7 }) ?? {})).toHaveLength(USE_NAMES_MAX);
    // All that one model can have prices for, behind as many that it has none for.
    expect(USE_NAMES_MAX).toBeGreaterThanOrEqual(2 * LIMITS.pricedUsesMax);
    expect(used({ 'Web Search': 2, 'web-search': 3 }, { 'Web Search': 4, 'web-search': 3 })).toEqual({
      use_web_search: 7,
    });
    expect(used(many, { kind_0_requests: 7 })).toMatchObject({ kind_0_requests: 7 });
  });

  it('are looked at no further than can be recorded, which is told', () => {
    const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));
    let looked = 0;
    const endless = new Proxy(names(1_000), {
      get: (target, name) => {
        looked++;
        return Reflect.get(target, name);
      },
    });
    const seen = seenFrom({ input_tokens: 1, output_tokens: 1, server_tool_use: endless });
    expect(looked).toBe(USE_NAMES_LOOKED_AT_MAX);
    expect(Object.keys(seen.uses ?? {})).toHaveLength(USE_NAMES_MAX);
    expect(seen.malformed).toHaveLength(MALFORMED_MAX);
    const unsaid = Object.fromEntries(Object.keys(names(1_000)).map((name) => [name, null]));
    expect(seenFrom({ server_tool_use: unsaid }).malformed).toEqual(['usage.server_tool_use']);
  });

  it('of rounds whose tokens stand nowhere else are noticed', () => {
    const iterations = (...types: string[]) => seenFrom({ iterations: types.map((type) => ({ type })) }).otherIteration;
    expect(iterations('message', 'message')).toBe(null);
    expect(iterations('message', 'compaction', 'message')).toBe('compaction');
  });
});
