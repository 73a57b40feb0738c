import { expect, it } from 'vitest';
import type { CallerUse } from '../../../proxy/rate-limits/caller-use.ts';
import { RememberedUses } from '../../../proxy/rate-limits/remembered-uses.ts';
import { FEW_LIMITS } from './few-limits.ts';

const limits = FEW_LIMITS;
const subject = (id: string) => ({ id, limits });
const NOW_MS = 5_000_000;
const begin = (use: CallerUse | undefined, nowMs: number = NOW_MS): void => {
  use?.begin('message');
  use?.take('requests', 1, nowMs);
};

it('remembers a key and its account from their first call on', () => {
  const uses = new RememberedUses();
  const first = uses.ofBoth(subject('k'), subject('a'), NOW_MS);
  for (const use of first ?? []) begin(use);
  expect(uses.ofBoth(subject('k'), subject('a'), NOW_MS)).toEqual(first);
  expect(uses.ofBoth(subject('l'), subject('a'), NOW_MS)?.[1]).toBe(first?.[1]);
  expect(uses.find('k', limits)?.left('requests', NOW_MS)).toBe(59);
});

it('forgets who has a full minute again and nothing under way, as others come, and nobody else', () => {
  const uses = new RememberedUses();
  const busy = uses.ofBoth(subject('busy'), subject('a'), NOW_MS);
  for (const use of busy ?? []) begin(use);
  for (let index = 0; index < 1_000; index++) {
    const nowMs = NOW_MS + index * 1_000;
    const [use] = uses.ofBoth(subject(`k${index}`), subject(`a${index}`), nowMs) ?? [];
    begin(use, nowMs);
    use?.end('message');
  }
  expect(uses.count).toBeLessThan(10);
  expect(uses.find('busy', limits)).toBe(busy?.[0]);
});

it('takes no more than its bound, and those that it knows', () => {
  const uses = new RememberedUses(4);
  for (const id of ['1', '2'])
    for (const use of uses.ofBoth(subject(`k${id}`), subject(`a${id}`), NOW_MS) ?? []) begin(use);
  expect(uses.ofBoth(subject('k3'), subject('a3'), NOW_MS)).toBeNull();
  expect(uses.ofBoth(subject('k2'), subject('a2'), NOW_MS)).not.toBeNull();
  expect(uses.count).toBe(4);
});
