import { describe, expect, test } from 'vitest';
import { position } from '../../../contracts/ids.ts';
import { TopicCheckpoint } from '../../../projections/sources/topic-checkpoint.ts';

const mark = (next: bigint, last: number) => ({ next, last: position(last) });

describe('the checkpoint of a topic', () => {
  test('is the same text for the same marks, in whatever order they were made, and comes back from it', () => {
    const one = new TopicCheckpoint()
      .with(null, 11, mark(3n, 90))
      .with(position(87), 2, mark(9_007_199_254_740_993n, 40));
    const other = new TopicCheckpoint()
      .with(null, 2, mark(1n, 7))
      .with(null, 2, mark(9_007_199_254_740_993n, 40))
      .with(position(87), 11, mark(3n, 90));
    expect(`${one}`).toBe('{"verified":87,"partitions":{"2":["9007199254740993",40],"11":["3",90]}}');
    expect(`${other}`).toBe(`${one}`);
    expect(TopicCheckpoint.parse(`${one}`)).toEqual(other);
    expect(one.highest).toBe(90);
  });

  test('of nothing knows no position', () => {
    const nothing = TopicCheckpoint.parse(`${new TopicCheckpoint()}`);
    expect([nothing.verified, nothing.highest, nothing.partitions.size]).toEqual([null, null, 0]);
  });

  test('is a value: a further mark leaves it as it was', () => {
    const before = new TopicCheckpoint().with(null, 0, mark(1n, 5));
    before.with(position(5), 0, mark(2n, 8));
    expect(`${before}`).toBe('{"verified":null,"partitions":{"0":["1",5]}}');
  });

  test.each([
    '',
    '7',
    '{"verified":1}',
    '{"verified":null,"partitions":{"0":["0",5]}}',
    '{"verified":null,"partitions":{"x":["1",5]}}',
  ])('is not read from %j', (text) => {
    expect(() => TopicCheckpoint.parse(text)).toThrow();
  });
});
