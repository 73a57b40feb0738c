import { describe, expect, test } from 'vitest';
import { type CatalogFile, catalogFileSchema } from '../../../contracts/catalog.ts';
import { CATALOG_STREAM, commandId, revision } from '../../../contracts/ids.ts';
import { isRateCardIntact } from '../../../contracts/rate-card.ts';
import {
  type CatalogState,
  EMPTY_CATALOG,
  evolveCatalog,
  loadCatalog,
  rateCardOf,
} from '../../../ledger/catalog/catalog-state.ts';
import { decideCatalog, publishCatalog } from '../../../ledger/catalog/publish-catalog.ts';
import { readCatalogFile } from '../../../ledger/catalog/read-catalog-file.ts';
import { catalogEntry } from '../../fixtures/catalog-entry.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';

const AT = '2026-11-05T10:00:00.000Z';
const model = catalogEntry('opal-medium', { context_window: 1000 });
const other = { ...model, id: 'opal-large' };
const fileOf = (...models: object[]): CatalogFile => catalogFileSchema.parse({ models });
const dearer = { price: { input: '4.00', output: '15.00' } };

/** Publishes files one after another, as the log would have them. */
function published(...files: readonly CatalogFile[]): CatalogState {
  let state = EMPTY_CATALOG;
  for (const file of files) {
    const data = decideCatalog(state, file, AT);
    if (data !== null) state = evolveCatalog(state, data, revision(state.revision + 1));
  }
  return state;
}
const cardOf = (state: CatalogState, id = 'opal-medium') => {
  const card = state.models.get(id)?.rateCard;
  if (card === undefined) throw new Error(`no model ${id}`);
  return card;
};

let commands = 0;
const recording = () => ({
  commandId: commandId(`019a5b3c-6666-7000-8000-${(++commands).toString(16).padStart(8, '0')}0000`),
  actor: 'operator',
  recordedAt: AT,
});

test('a model is listed since it was published first, also where it was away in between', () => {
  const at = (state: CatalogState, publishedAt: string, ...models: object[]): CatalogState => {
    const data = decideCatalog(state, fileOf(...models), publishedAt);
    return data === null ? state : evolveCatalog(state, data, revision(state.revision + 1));
  };
  const FIRST = '2026-01-01T00:00:00.000Z';
  let state = at(EMPTY_CATALOG, FIRST, model);
  state = at(state, '2026-02-01T00:00:00.000Z', other);
  state = at(state, '2026-03-01T00:00:00.000Z', model, other);
  expect(Object.fromEntries(state.listedSince)).toEqual({
    'opal-medium': FIRST,
    'opal-large': '2026-02-01T00:00:00.000Z',
  });
});

describe('a rate card', () => {
  test('has version 1 when its model is first listed', () => {
    const card = cardOf(published(fileOf(model)));
    expect(card).toMatchObject({ id: 'opal-medium', version: 1, fastMultiplier: null });
    expect(isRateCardIntact(card)).toBe(true);
  });

  test.each([
    ['its input price', dearer],
    ['its output price', { price: { input: '3.00', output: '15.000001' } }],
    ['whether it runs fast', { lanes: ['standard', 'fast'] }],
    ['a price a use', { price: { ...model.price, uses: { web_search_requests: '0.01' } } }],
  ])('rises by one version when %s changes, and no other card with it', (_what, change) => {
    const first = published(fileOf(model, other));
    const second = published(fileOf(model, other), fileOf({ ...model, ...change }, other));
    expect(cardOf(second).version).toBe(2);
    expect(cardOf(second).hash).not.toBe(cardOf(first).hash);
    expect(cardOf(second, 'opal-large')).toEqual(cardOf(first, 'opal-large'));
  });

  test.each([
    { label: 'Opal 2' },
    { note: 'new words' },
    { context_window: 2000 },
    { showcase: true },
    { caching: 'automatic' },
    { upstreams: [{ provider: 'main', model: 'x' }] },
    { betas: ['shipped', 'context-1m-2025-08-07'] },
    { betas: ['shipped', { name: 'context-1m-2025-08-07', context_window: 5000, price: dearer.price }] },
    { status: 'deprecated', retires_at: '2027-01-01', replacement: 'opal-large' },
  ])('stays as it is when %j changes, though the catalog is published', (change) => {
    const first = published(fileOf(model, other));
    const second = published(fileOf(model, other), fileOf({ ...model, ...change }, other));
    expect([second.version, cardOf(second)]).toEqual([2, cardOf(first)]);
  });

  test('goes on counting when a price comes back, or a model does', () => {
    const back = published(fileOf(model), fileOf({ ...model, ...dearer }), fileOf(model));
    expect([back.version, cardOf(back).version]).toEqual([3, 3]);
    const returned = published(fileOf(model, other), fileOf(other), fileOf({ ...model, ...dearer }, other));
    expect(cardOf(returned).version).toBe(2);
  });

  test('is the same when a model comes back at its old price', () => {
    const state = published(fileOf(model, other), fileOf(other), fileOf(model, other));
    expect(cardOf(state)).toEqual(cardOf(published(fileOf(model, other))));
  });

  test('is never forgotten: usage that names it can be priced for ever', () => {
    const first = cardOf(published(fileOf(model, other)));
    const state = published(fileOf(model, other), fileOf({ ...model, ...dearer }, other), fileOf(other));
    expect(state.models.has('opal-medium')).toBe(false);
    expect(rateCardOf(state, first)).toEqual(first);
    expect(state.cards.size).toBe(3);
    expect(rateCardOf(state, { ...first, hash: 'f'.repeat(64) })).toBeNull();
  });

  test('whose content is not that of its hash is not taken in', () => {
    const data = decideCatalog(EMPTY_CATALOG, fileOf(model), AT);
    const [listed] = data?.models ?? [];
    if (data === null || listed === undefined) throw new Error('nothing was published');
    const tampered = { ...listed, rateCard: { ...listed.rateCard, version: 7 } };
    expect(() => evolveCatalog(EMPTY_CATALOG, { ...data, models: [tampered] }, revision(0))).toThrow(
      /opal-medium version 7 does not match its hash/,
    );
  });
});

describe('a beta with a price of its own', () => {
  const priced = (price: object) => ({
    ...model,
    price: { ...model.price, uses: { web_search_requests: '0.01' } },
    betas: [{ name: 'context-1m-2025-08-07', context_window: 5000, price }],
  });
  const betaCardOf = (state: CatalogState) => {
    const card = state.models.get('opal-medium')?.betas.listed[0]?.rateCard;
    if (card === null || card === undefined) throw new Error('the beta has no card');
    return card;
  };

  test('has a card of its own, which usage can name for ever, with the prices a use of its model', async () => {
    const log = new MemoryEventLog();
    const result = await publishCatalog(log, fileOf(priced({ input: '6.00', output: '22.50' })), recording());
    const ids = result.type === 'published' && result.newCards.map(({ id, version }) => `${id} ${version}`);
    expect(ids).toEqual(['opal-medium 1', 'opal-medium+context-1m-2025-08-07 1']);
    const state = await loadCatalog(log);
    const card = betaCardOf(state);
    expect(card).toMatchObject({ rates: { input: 6_000_000n }, uses: { web_search_requests: 10_000_000_000n } });
    expect(rateCardOf(state, card)).toEqual(card);
    expect(rateCardOf(published(fileOf(priced({ input: '6.00', output: '22.50' })), fileOf(model)), card)).toEqual(
      card,
    );
  });

  test('rises by a version when it changes, and its model does not', () => {
    const state = published(
      fileOf(priced({ input: '6.00', output: '22.50' })),
      fileOf(priced({ input: '7.00', output: '22.50' })),
    );
    expect([betaCardOf(state).version, cardOf(state).version]).toEqual([2, 1]);
  });
});

describe('publishing', () => {
  test('the file of a catalog from before there were betas and prices a use changes nothing', () => {
    const file = readCatalogFile(new URL('../../../contracts/example-catalog.yaml', import.meta.url).pathname, {
      names: ['mock'],
      of: 'the gateway',
      remedy: 'none',
    });
    const plain = {
      models: file.models.map((one) => ({ ...one, uses: {}, betas: { shipped: true, listed: [] } })),
      plans: [],
    };
    // What the program without them made of that file.
    expect(decideCatalog(EMPTY_CATALOG, plain, AT)?.hash).toBe(
      'b9835eaa3f411ba051bde339202bc62885123a180596e6cf814d8488f4c68072',
    );
  });

  test('writes the next version with its new cards', async () => {
    const log = new MemoryEventLog();
    const first = await publishCatalog(log, fileOf(model, other), recording());
    expect(first).toMatchObject({ type: 'published', catalog: { version: 1, publishedAt: AT } });
    const second = await publishCatalog(log, fileOf({ ...model, ...dearer }, other), recording());
    expect(second).toMatchObject({ type: 'published', catalog: { version: 2 } });
    expect(second.type === 'published' && second.newCards.map(({ id, version }) => `${id} ${version}`)).toEqual([
      'opal-medium 2',
    ]);
    expect(await loadCatalog(log)).toEqual(published(fileOf(model, other), fileOf({ ...model, ...dearer }, other)));
  });

  test('a file in which a model takes role system now, and nothing else is new, writes the next version', () => {
    const state = published(fileOf(model), fileOf({ ...model, system_role: true }));
    expect([state.version, state.models.get('opal-medium')?.systemRole]).toEqual([2, true]);
    expect(cardOf(state).version).toBe(1);
  });

  test('an unchanged file writes nothing', async () => {
    const log = new MemoryEventLog();
    await publishCatalog(log, fileOf(model, other), recording());
    expect(await publishCatalog(log, fileOf(model, other), recording())).toEqual({ type: 'unchanged', version: 1 });
    expect([log.events.length, log.appends]).toEqual([1, 1]);
  });

  test('after somebody else has published in between is a conflict, and writes nothing', async () => {
    const log = new MemoryEventLog();
    const elsewhere = new MemoryEventLog();
    await publishCatalog(elsewhere, fileOf(other), recording());
    log.faults = () => ({ type: 'precede', events: elsewhere.events });
    expect(await publishCatalog(log, fileOf(model), recording())).toEqual({ type: 'conflict' });
    expect(log.events.map(({ id }) => id)).toEqual(elsewhere.events.map(({ id }) => id));
  });

  test('the order of models is part of what is published', () => {
    expect(published(fileOf(model, other), fileOf(other, model)).version).toBe(2);
  });

  test('an event that is not a publication does not belong into the stream', async () => {
    const log = new MemoryEventLog();
    const event = {
      id: recording().commandId,
      type: 'AccountSuspended',
      data: '{"reason":"x"}',
      metadata: JSON.stringify({
        schemaVersion: 1,
        commandId: 'c',
        actor: 'test',
        recordedAt: '2026-01-01T00:00:00.000Z',
      }),
    };
    log.write(CATALOG_STREAM, [event as never]);
    await expect(loadCatalog(log)).rejects.toThrow(/AccountSuspended does not belong/);
  });
});
