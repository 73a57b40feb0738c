import { expect, it } from 'vitest';
import { RequestSlots } from './request-slots.ts';

const key = (keyId: string) => ({ accountId: 'ada', keyId, key: `secret of ${keyId}` });

it('hands out each model once with each key', () => {
  const slots = new RequestSlots(key('a'), ['m1', 'm2']);
  slots.addKey(key('b'));
  const taken = Array.from({ length: 5 }, () => slots.take()).map((slot) => slot && `${slot.key.keyId} ${slot.model}`);
  expect(taken).toEqual(['a m1', 'a m2', 'b m1', 'b m2', null]);
});

it('leaves out what is left of a key that is skipped', () => {
  const slots = new RequestSlots(key('a'), ['m1', 'm2', 'm3']);
  slots.addKey(key('b'));
  slots.take();
  expect(slots.current?.keyId).toBe('a');
  slots.skipKey();
  expect(slots.current?.keyId).toBe('b');
  expect(slots.left).toBe(3);
  expect(slots.take()?.model).toBe('m1');
});
