import { describe, expect, it } from 'vitest';
import type { CatalogModel } from '../../../contracts/catalog.ts';
import { termsOf } from '../../../proxy/admission/terms.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';

const [EXAMPLE] = exampleOf('CatalogPublished').data.models;
if (EXAMPLE === undefined) throw new Error('the example has a model');
const WINDOW = 200_000;
const windowed = (name: string, contextWindow: number | null) => ({ name, contextWindow, rateCard: null });
const model: CatalogModel = {
  ...EXAMPLE,
  contextWindow: WINDOW,
  betas: {
    shipped: false,
    listed: [windowed('none', null), windowed('less', 100_000), windowed('more', 300_000), windowed('most', 1_000_000)],
  },
};

describe('the window of a request', () => {
  it.each([
    ['none', WINDOW],
    ['less', WINDOW],
    ['none, more', 300_000],
    ['less,more', 300_000],
    ['more,most', 1_000_000],
    ['most,less', 1_000_000],
  ])("under %s is the widest of the model's and those that these betas give", (header, contextWindow) => {
    const terms = termsOf(model, { header, saysSpeed: false, unknownBetas: 'refuse' });
    expect(terms).toMatchObject({ contextWindow, beta: header });
  });
});

describe('the beta for which more may be held', () => {
  const { rateCard } = EXAMPLE;
  const listed = [...model.betas.listed, { name: 'priced', contextWindow: null, rateCard }];
  it.each([
    [null, null],
    ['none', null],
    ['less', null],
    ['less,more,most', 'most'],
    ['priced,none', 'priced'],
  ])('of %s is %s', (header, behind) => {
    const priced = { ...model, betas: { ...model.betas, listed } };
    expect(termsOf(priced, { header, saysSpeed: false, unknownBetas: 'refuse' })).toMatchObject({ behind });
  });
});
