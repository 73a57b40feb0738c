import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelListSchema, modelSchema } from '../../../contracts/answers.ts';
import { get, refusalOf } from '../../fixtures/gateway/call.ts';
import { startTestGateway, TEST_CATALOG, type TestGateway } from '../../fixtures/gateway/start-gateway.ts';

const LONGEST = 'x'.repeat(128);
const further = (id: string, more: object = {}) => ({ ...TEST_CATALOG.models[1], id, ...more });
const ODD_IDS = ['vendor/opal-large:free', 'opal.large_2', LONGEST, 'Upper-Case'];

let gateway: TestGateway;
beforeAll(async () => {
  const models = [
    ...TEST_CATALOG.models,
    ...ODD_IDS.map((id) => further(id)),
    further('opal-noted', { note: 'a word to the caller', family: 'granite', context_window: 12_345 }),
  ];
  gateway = await startTestGateway({ upstreamUrl: 'http://127.0.0.1:9', catalog: { models } });
});
afterAll(() => gateway.stop());

describe('GET /v1/models', () => {
  it('lists active and deprecated models in the order of the catalog, on one page', async () => {
    const answered = await get(gateway, '/v1/models');
    const list = modelListSchema.parse(answered.body);
    const ids = [
      'svc-mock',
      'opal-medium',
      'opal-agent',
      'opal-fast',
      'opal-renamed',
      'opal-twice',
      'opal-old',
      'opal-automatic',
    ];
    expect(list.data.map(({ id }) => id)).toEqual([...ids, ...ODD_IDS, 'opal-noted']);
    expect([list.has_more, list.first_id, list.last_id]).toEqual([false, 'svc-mock', 'opal-noted']);
    expect(answered.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answered.headers['request-id']).toMatch(/^req_/);
  });

  it.each(['?limit=1000', '?beta=true', '?lifecycle%5B%5D=active'])(
    'gives the same whatever is asked beside it: %s',
    async (query) => {
      expect((await get(gateway, `/v1/models${query}`)).body).toEqual((await get(gateway, '/v1/models')).body);
    },
  );

  it('gives pages where they are asked for, and comes to an end for whoever asks on whatever it says', async () => {
    const all = modelListSchema.parse((await get(gateway, '/v1/models')).body).data.map(({ id }) => id);
    const ids: string[] = [];
    const said: boolean[] = [];
    let after = '';
    for (let pages = 0; pages <= all.length; pages++) {
      const list = modelListSchema.parse((await get(gateway, `/v1/models?limit=5${after}`)).body);
      if (list.data.length === 0) break;
      ids.push(...list.data.map(({ id }) => id));
      said.push(list.has_more);
      after = `&after_id=${encodeURIComponent(list.last_id ?? '')}`;
    }
    expect(ids).toEqual(all);
    expect(said).toEqual([true, true, false]);
  });

  it.each([
    ['?limit=0', 'limit: '],
    ['?limit=1001', 'limit: '],
    ['?limit=x', 'limit: '],
    ['?after_id=opal-gone', 'after_id: nothing in the list has this id'],
    ['?before_id=opal-gone', 'before_id: nothing in the list has this id'],
    ['?before_id=svc-mock&after_id=svc-mock', 'before_id: expected only one of after_id and before_id'],
  ])('refuses a page that cannot be: %s', async (query, message) => {
    expect(refusalOf(await get(gateway, `/v1/models${query}`), 400)).toContain(message);
  });
});

describe('GET /v1/models/{id}', () => {
  it('gives an active model', async () => {
    expect((await get(gateway, '/v1/models/opal-noted')).body).toEqual({
      id: 'opal-noted',
      type: 'model',
      display_name: 'opal-medium',
      family: 'granite',
      status: 'active',
      context_window: 12_345,
      created_at: expect.stringMatching(/Z$/),
      max_input_tokens: 12_345,
      max_tokens: null,
      note: 'a word to the caller',
    });
  });

  it('gives a deprecated model with its date and replacement', async () => {
    expect(modelSchema.parse((await get(gateway, '/v1/models/opal-old')).body)).toMatchObject({
      status: 'deprecated',
      retiresAt: '2099-12-31T00:00:00.000Z',
      replacement: 'opal-medium',
    });
  });

  it('gives what the list has, for each', async () => {
    const { data } = modelListSchema.parse((await get(gateway, '/v1/models')).body);
    for (const model of data)
      expect((await get(gateway, `/v1/models/${encodeURIComponent(model.id)}`)).body).toEqual(model);
  });

  it.each([
    'vendor%2Fopal-large%3Afree',
    'vendor/opal-large:free',
    '%6f%70%61%6c-medium',
    'opal-medium?beta=true',
    'opal-medium/',
  ])('reads the id as SDKs write it: %s', async (path) => {
    const { body } = await get(gateway, `/v1/models/${path}`);
    expect(modelSchema.parse(body).id).toBe(path.includes('large') ? 'vendor/opal-large:free' : 'opal-medium');
  });

  it('is a 404 for what is not there', async () => {
    expect(refusalOf(await get(gateway, '/v1/models/a%2Fb%20c'), 404)).toBe('model: there is no model "a/b c"');
    refusalOf(await get(gateway, '/v1/models/__proto__'), 404);
    refusalOf(await get(gateway, '/v1/models/OPAL-MEDIUM'), 404);
  });
});
