import { describe, expect, test } from 'vitest';
import { modelSchema } from '../../contracts/answers.ts';

describe('an entry of the model list', () => {
  const model = {
    id: 'opal-medium',
    type: 'model',
    display_name: 'Opal Medium',
    family: 'opal',
    status: 'deprecated',
    context_window: 1000,
    created_at: '2026-01-01T00:00:00.000Z',
    max_input_tokens: 1000,
    max_tokens: null,
    retiresAt: '2027-03-31T00:00:00.000Z',
    replacement: 'opal-large',
    note: 'x',
  };

  test('has the fields of an entry, and those that SDKs read', () => {
    expect(modelSchema.parse(model)).toEqual(model);
  });

  test.each([{ status: 'retired' }, { family: 'Not A Tag' }, { type: 'text' }, { price: '1' }])(
    'is not one with %j',
    (change) => {
      expect(modelSchema.safeParse({ ...model, ...change }).success).toBe(false);
    },
  );
});
