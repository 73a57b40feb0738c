import { afterAll, describe, expect, it } from 'vitest';
import { catalogAnswerSchema, pricingSchema } from '../../../contracts/answers.ts';
import { catalogFileSchema } from '../../../contracts/catalog.ts';
import type { CreditsDebited, UsageRecorded } from '../../../contracts/events.ts';
import { commandId, uuidV7 } from '../../../contracts/ids.ts';
import { publishCatalog } from '../../../ledger/catalog/publish-catalog.ts';
import { type Answered, asking, call, get, post } from '../../fixtures/gateway/call.ts';
import { TEST_CATALOG } from '../../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { json, wait } from '../../upstream/answer.ts';
import type { Tokens } from '../../upstream/content.ts';
import { message } from '../../upstream/message.ts';

const { upstream, gateway } = await startOnUpstream(afterAll);

const pricing = async () => pricingSchema.parse((await call(gateway.url, '/pricing')).body);

async function priceOf(id: string): Promise<Awaited<ReturnType<typeof pricing>>['models'][number]> {
  const price = (await pricing()).models.find((model) => model.id === id);
  if (price === undefined) throw new Error(`/pricing has no ${id}`);
  return price;
}

/** What the ledger has of a request. */
async function recordOf(answered: Answered): Promise<{ usage: UsageRecorded; debit: CreditsDebited }> {
  const requestId = answered.headers['request-id'];
  const events = await gateway.events();
  const usage = events.find((event) => event.type === 'UsageRecorded' && event.data.requestId === requestId);
  const debit = events.find((event) => event.type === 'CreditsDebited' && event.data.requestId === requestId);
  if (usage?.type !== 'UsageRecorded' || debit?.type !== 'CreditsDebited') throw new Error(`no record of ${requestId}`);
  return { usage: usage.data, debit: debit.data };
}

/** The cost of tokens by the numbers of /pricing, in pico-USD: credits per million tokens are that per token. */
const costBy = (
  { credits }: Awaited<ReturnType<typeof pricing>>['models'][number],
  tokens: Required<Tokens>,
  multiplier: number,
): bigint =>
  BigInt(multiplier) *
  (BigInt(tokens.input) * BigInt(credits.input) +
    BigInt(tokens.output) * BigInt(credits.output) +
    BigInt(tokens.cacheRead) * BigInt(credits.cache_read) +
    BigInt(tokens.cacheWrite5m) * BigInt(credits.cache_write_5m) +
    BigInt(tokens.cacheWrite1h) * BigInt(credits.cache_write_1h));

const TOKENS = { input: 101, output: 53, cacheRead: 1_007, cacheWrite5m: 211, cacheWrite1h: 307 };

async function publish(models: readonly object[]): Promise<void> {
  const now = Date.now();
  const result = await publishCatalog(gateway.log, catalogFileSchema.parse({ models }), {
    commandId: commandId(uuidV7(now, crypto.getRandomValues(new Uint8Array(10)))),
    actor: 'test',
    recordedAt: new Date(now).toISOString(),
  });
  expect(result.type).toBe('published');
  const position = await gateway.log.headPosition();
  if (position === null) throw new Error('the log is empty');
  await gateway.gateway.process.projections.whenAt(position);
}

it('GET /catalog lists what can be called, with label and group', async () => {
  const { models } = catalogAnswerSchema.parse((await call(gateway.url, '/catalog')).body);
  expect(models[0]).toEqual({ id: 'svc-mock', label: 'Mock', group: 'Test' });
  expect(models.map(({ id }) => id)).toEqual(
    TEST_CATALOG.models.map(({ id }) => id).filter((id) => id !== 'opal-gone'),
  );
});

describe('GET /pricing', () => {
  it('gives every price in credits and in USD, with cache rates of 10%, 125% and 200% of the input', async () => {
    expect(await priceOf('opal-fast')).toEqual({
      id: 'opal-fast',
      label: 'opal-fast',
      status: 'active',
      free: false,
      fast: true,
      caching: 'none',
      credits: {
        input: 3_000_000,
        output: 15_000_000,
        cache_read: 300_000,
        cache_write_5m: 3_750_000,
        cache_write_1h: 6_000_000,
      },
      usd: { input: '3.00', output: '15.00', cache_read: '0.30', cache_write_5m: '3.75', cache_write_1h: '6.00' },
    });
    expect(await priceOf('svc-mock')).toMatchObject({ free: true, fast: false, credits: { input: 0, output: 0 } });
    expect(await priceOf('opal-old')).toMatchObject({ status: 'deprecated', fast: false });
    expect((await pricing()).fast_multiplier).toBe(2);
  });

  it.each([
    ['opal-medium', 'standard', 1],
    ['opal-medium', 'priority', 1],
    ['opal-fast', 'standard', 1],
    ['opal-fast', 'priority', 2],
  ] as const)(
    'is what the meter bills with: %s served %s costs its numbers times %i',
    async (model, serviceTier, times) => {
      upstream.answerWith(json(message({ model, tokens: TOKENS, serviceTier })));
      const { version, hash } = await pricing();
      const answered = await post(gateway, '/v1/messages', asking(model, { speed: 'fast' }));
      const { usage, debit } = await recordOf(answered);
      expect(debit.cost).toBe(costBy(await priceOf(model), TOKENS, times));
      expect(debit.amount).toBe((debit.carryBefore + debit.cost) / 1_000_000n);
      const { cards } = gateway.gateway.process.projections.catalog.state;
      expect(cards.get(usage.rateCard.hash)?.id).toBe(model);
      expect(await pricing()).toMatchObject({ version, hash });
    },
  );
});

describe('a catalog published while the gateway runs', () => {
  const changed = (id: string, more: object) =>
    TEST_CATALOG.models.map((model) => (model.id === id ? { ...model, ...more } : model));

  it('changes the registry, the lists and the price of the next request, not of one under way', async () => {
    const under = Promise.withResolvers<void>();
    upstream.answerWith([wait(under.promise), ...json(message({ tokens: TOKENS }))]);
    const old = await priceOf('opal-medium');
    const before = await pricing();
    const sent = upstream.requests.length;
    const underWay = post(gateway, '/v1/messages', asking('opal-medium'));
    await upstream.seen(sent);

    await publish([
      ...changed('opal-medium', { price: { input: '4.00', output: '20.00' }, label: 'Renamed' }),
      { ...TEST_CATALOG.models[1], id: 'opal-new', showcase: true },
    ]);

    const now = await priceOf('opal-medium');
    expect(now).toMatchObject({ label: 'Renamed', credits: { input: 4_000_000, cache_read: 400_000 } });
    const after = await pricing();
    expect([after.version, after.showcase]).toEqual([before.version + 1, ['opal-new']]);
    expect(after.hash).not.toBe(before.hash);
    expect((await get(gateway, '/v1/models/opal-new')).status).toBe(200);
    expect((await call(gateway.url, '/catalog')).text).toContain('"opal-new"');

    upstream.answerWith(json(message({ tokens: TOKENS })));
    const next = await recordOf(await post(gateway, '/v1/messages', asking('opal-medium')));
    under.resolve();
    const earlier = await recordOf(await underWay);
    expect([next.debit.cost, earlier.debit.cost]).toEqual([costBy(now, TOKENS, 1), costBy(old, TOKENS, 1)]);
    expect([next.usage.rateCard.version, earlier.usage.rateCard.version]).toEqual([2, 1]);
  });

  it('takes a model away for the next request, and one under way is served and billed', async () => {
    const under = Promise.withResolvers<void>();
    upstream.answerWith([wait(under.promise), ...json(message({ tokens: TOKENS }))]);
    const price = await priceOf('opal-twice');
    const sent = upstream.requests.length;
    const underWay = post(gateway, '/v1/messages', asking('opal-twice'));
    await upstream.seen(sent);
    await publish(TEST_CATALOG.models.filter(({ id }) => id !== 'opal-twice'));
    expect((await post(gateway, '/v1/messages', asking('opal-twice'))).status).toBe(404);
    under.resolve();
    const { debit } = await recordOf(await underWay);
    expect(debit.cost).toBe(costBy(price, TOKENS, 1));
  });
});
