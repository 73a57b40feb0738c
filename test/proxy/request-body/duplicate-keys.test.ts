import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTopLevel } from '../../../proxy/request-body/duplicate-keys.ts';
import { body, textOf } from './arbitrary-body.ts';

const duplicateIn = (text: string) => {
  const found = readTopLevel(Buffer.from(text));
  return 'members' in found ? null : found;
};
const folded = (key: string): string => key.toUpperCase().toLowerCase();

describe('duplicate keys', () => {
  it('are found on the top level, whatever their name', () => {
    fc.assert(
      fc.property(body, (spelled) => {
        const keys = spelled.members.map(({ key }) => folded(key));
        const twice = keys.find((key, at) => keys.indexOf(key) < at);
        const found = duplicateIn(textOf(spelled));
        if (found === null || found.within === null) expect(found?.key).toBe(twice);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    ['{"model":"dear","model":"cheap"}', 'model'],
    ['{"model":"dear","\\u006dodel":"cheap"}', 'model'],
    ['{"model":"dear","MODEL":"cheap"}', 'model'],
    ['{"messages":[],"me\u017f\u017fages":[]}', 'messages'],
    ['{"a":1,"a":2,"model":"x"}', 'a'],
    // As long as it, and with its hash.
    ['{"model":"x","o1del":"y"}', null],
    ['{"o1del":"x","model":"y","o1del":"z"}', 'o1del'],
    ['{"model":"x","metadata":{"model":"y","model":"z"}}', null],
    ['{"model":"x","note":"\\",\\"model\\":\\"y"}', null],
    ['{"a":{"stream":true},"stream":1 , "speed":2, "speed":3,"stream":4}', 'speed'],
    [' {} ', null],
  ])('in %j: %j', (text, expected) => {
    expect(duplicateIn(text)).toEqual(expected === null ? null : { key: expected, within: null });
  });

  it.each([
    ['[{"role":"user","content":[{"type":"text","type":"image"}]}]', 'type'],
    ['[{"content":[],"role":"user","content":"x"}]', 'content'],
    ['[{"content":[{"source":{"type":"text","data":"x"},"a":[1,{}],"source":{"type":"url"}}]}]', 'source'],
    ['[{"a":{"source" : {"type":"text","data":"x" , "typ\\u0065"\n: "url"}}}]', 'type'],
    ['[{"cache_control":{"ttl":"1h","ttl":"5m"}}]', 'ttl'],
    ['[{"cache_control":{"ttl":"1h"},"\\u0063\\u0061\\u0063\\u0068\\u0065_control":null}]', 'cache_control'],
    ['[{"Type":"web_search_20250305","type":"custom"}]', 'type'],
    ['[{"max_uses":9,"max_u\u017fes":1}]', 'max_uses'],
    ['[{"input":{},"input":{}}]', 'input'],
    ['[{"type":"a"},{"type":"a"}]', null],
    ['[{"type":"a","inner":{"type":"a"},"list":[{"type":"a"},"type","type"]}]', null],
    ['["type","type",{"text":"type","name":"type"}]', null],
    ['[{"other":1,"other":2}]', null],
    ['[{"input_schema":{"type":1,"type":2,"a":["]}"]},"metadata":[{"type":1,"type":1}],"type":"x"}]', null],
    ['[{"input":{"type":1,"Type":2},"name":"n"}]', null],
    ['[{"INPUT":{"type":1,"Type":2}}]', 'type'],
    ['"type"', null],
    ['[{"text":"\\",\\"text\\":\\""}]', null],
  ])('further inside, in %s: %j', (value, expected) => {
    for (const field of ['messages', 'next'])
      expect(duplicateIn(`{"model":"x","${field}":${value}}`)).toEqual(
        expected === null ? null : { key: expected, within: field },
      );
    expect(duplicateIn(`{"metadata":${value}}`)).toBe(null);
  });

  it('are found as deep as a body may be, and not behind it', () => {
    const deep = (inside: string): string => `${'['.repeat(500)}${inside}${']'.repeat(500)}`;
    expect(duplicateIn(`{"a":${deep('{"type":1,"type":1}')}}`)).toEqual({ key: 'type', within: 'a' });
    expect(duplicateIn(`{"a":${deep('{"type":1}')},"b":${deep('{"type":1}')}}`)).toBe(null);
  });
});
