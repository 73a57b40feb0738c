import { expect, it } from 'vitest';
import { FIELDS_OF_OWN_BYTES } from '../../../contracts/outside-input.ts';
import { weighInput } from '../../../proxy/request-body/input-weight.ts';

const weightOf = (request: Record<string, unknown>): number => weighInput(request, 200_000).millitokens;
const WORDS = 'words that a model would read, if they stood in its prompt';

it('weighs of the fields that are known to bring nothing else those that are read, and no others', () => {
  const weighed = [...FIELDS_OF_OWN_BYTES].filter((name) => weightOf({ [name]: WORDS }) > weightOf({}));
  expect(weighed.sort()).toEqual(['messages', 'output_config', 'output_format', 'system', 'tools']);
});

it('weighs no signature', () => {
  const asking = (more: object) =>
    weightOf({ messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...more }] }] });
  expect(asking({ signature: 'c2lnbmF0dXJl'.repeat(100) })).toBe(asking({}));
  expect(asking({})).toBeGreaterThan(0);
});
