import { expect, it } from 'vitest';
import { pageOf } from '../../../proxy/routes/page.ts';

const all = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id }));
const page = (query: object) => {
  const found = pageOf(all, query);
  return 'code' in found ? found.message : [found.entries.map(({ id }) => id).join(''), found.hasMore];
};

it.each([
  [{}, 'abcde', false],
  [{ limit: 2 }, 'ab', true],
  [{ limit: 5 }, 'abcde', false],
  [{ limit: 2, after_id: 'b' }, 'cd', true],
  [{ limit: 2, after_id: 'c' }, 'de', false],
  [{ after_id: 'e' }, '', false],
  [{ limit: 2, before_id: 'd' }, 'bc', true],
  [{ limit: 2, before_id: 'c' }, 'ab', false],
  [{ limit: 9, before_id: 'c' }, 'ab', false],
  [{ before_id: 'a' }, '', false],
])('%o is the page %s, with more in its direction: %s', (query, ids, hasMore) => {
  expect(page(query)).toEqual([ids, hasMore]);
});

it('is the whole list where none is asked for, however long', () => {
  const long = Array.from({ length: 1_001 }, (_, index) => ({ id: `m${index}` }));
  expect(pageOf(long, {})).toEqual({ entries: long, hasMore: false });
});
