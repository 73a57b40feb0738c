import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findDuplicateKeys } from '../../../proxy/request-body/duplicate-keys.ts';
import { body, textOf } from './arbitrary-body.ts';

const WATCHED = ['model', 'max_tokens', 'stream', 'speed', 'messages'];

const duplicateIn = (text: string): string | null => findDuplicateKeys(Buffer.from(text), WATCHED);

describe('duplicate keys', () => {
  it('are found on the top level and nowhere else, as the members say', () => {
    fc.assert(
      fc.property(body, (spelled) => {
        const seen: string[] = [];
        let expected: string | null = null;
        for (const { key } of spelled.members) {
          const watched = WATCHED.find((name) => name.toLowerCase() === key.toLowerCase());
          if (watched !== undefined && seen.includes(watched)) expected ??= watched;
          if (watched !== undefined) seen.push(watched);
        }
        expect(duplicateIn(textOf(spelled))).toBe(expected);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    ['{"model":"dear","model":"cheap"}', 'model'],
    ['{"model":"dear","\\u006dodel":"cheap"}', 'model'],
    ['{"model":"dear","MODEL":"cheap"}', 'model'],
    ['{"messages":[],"me\u017f\u017fages":[]}', 'messages'],
    ['{"a":1,"a":2,"model":"x"}', null],
    ['{"model":"x","metadata":{"model":"y","model":"z"}}', null],
    ['{"model":"x","note":"\\",\\"model\\":\\"y"}', null],
    ['{"a":{"stream":true},"stream":1 , "speed":2, "speed":3,"stream":4}', 'speed'],
    [' {} ', null],
  ])('in %j: %j', (text, expected) => {
    expect(duplicateIn(text)).toBe(expected);
  });
});
