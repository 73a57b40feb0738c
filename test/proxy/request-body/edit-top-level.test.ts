import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editTopLevel, type TopLevelEdits } from '../../../proxy/request-body/edit-top-level.ts';
import { TopLevelScan } from '../../../proxy/request-body/json-scan.ts';
import { RequestBytes } from '../../../proxy/request-body/request-bytes.ts';
import { type TopLevel, TopLevelPlaces } from '../../../proxy/request-body/top-level.ts';
import { body, KEYS, key, textOf } from './arbitrary-body.ts';

const RUNS = 1_500;

/** The places of the members with these names. */
function topLevelOf(whole: Buffer, names: ReadonlySet<string>): TopLevel {
  const places = new TopLevelPlaces(names);
  const scan = new TopLevelScan(whole);
  while (scan.next()) places.see(scan.key, scan);
  return places.of(scan);
}

const edit = (given: RequestBytes, edits: TopLevelEdits): RequestBytes => {
  const names = new Set([...Object.keys(edits.set ?? {}), ...(edits.remove ?? []), ...(edits.keepOnly ?? [])]);
  return given.changed(editTopLevel(topLevelOf(Buffer.concat(given.pieces), names), edits));
};
const edited = (text: string, edits: TopLevelEdits): string =>
  Buffer.concat(edit(new RequestBytes([Buffer.from(text)]), edits).pieces).toString();

const newText = fc.constantFrom('"new"', '1', '{"model": [1]}', 'null', '"漢"');
const edits = fc
  .record({
    set: fc.uniqueArray(fc.tuple(fc.constantFrom(...KEYS.slice(0, 9), 'added'), newText), {
      maxLength: 3,
      selector: ([name]) => name,
    }),
    remove: fc.uniqueArray(fc.oneof(fc.constantFrom(...KEYS), key), { maxLength: 4 }),
  })
  .map(({ set, remove }) => ({
    set: Object.fromEntries(set),
    remove: remove.filter((name) => !set.some(([other]) => other === name)),
  }));

describe('editing the top level of a body', () => {
  it('means the same as editing the parsed object', () => {
    fc.assert(
      fc.property(body, edits, (spelled, { set, remove }) => {
        const text = textOf(spelled);
        const expected = new Map(Object.entries(JSON.parse(text)));
        for (const name of remove) expected.delete(name);
        for (const [name, value] of Object.entries(set)) expected.set(name, JSON.parse(value));
        expect(new Map(Object.entries(JSON.parse(edited(text, { set, remove }))))).toEqual(expected);
      }),
      { numRuns: RUNS },
    );
  });

  it('changes the values that are set, wherever the key stands, and no other byte', () => {
    fc.assert(
      fc.property(body, fc.constantFrom(...KEYS), newText, (spelled, name, value) => {
        fc.pre(spelled.members.some((member) => member.key === name));
        const members = spelled.members.map((member) => {
          if (member.key !== name) return member;
          return { ...member, text: member.text.slice(0, -member.valueText.length) + value };
        });
        expect(edited(textOf(spelled), { set: { [name]: value } })).toBe(textOf({ ...spelled, members }));
      }),
      { numRuns: RUNS },
    );
  });

  it('adds a key that is not there behind the last member, and changes no other byte', () => {
    fc.assert(
      fc.property(body, newText, (spelled, value) => {
        fc.pre(!spelled.members.some((member) => member.key === 'added'));
        const last = spelled.members.at(-1);
        const tail = last === undefined ? `${spelled.inside}}${spelled.end}` : `${last.after}}${spelled.end}`;
        const head = textOf(spelled).slice(0, -tail.length);
        const comma = last === undefined ? '' : ',';
        expect(edited(textOf(spelled), { set: { added: value } })).toBe(`${head}${comma}"added":${value}${tail}`);
      }),
      { numRuns: RUNS },
    );
  });

  it('keeps the bytes of what stays, and what is between two members that stay', () => {
    fc.assert(
      fc.property(body, fc.uniqueArray(key, { maxLength: 3 }), (spelled, remove) => {
        const result = edited(textOf(spelled), { remove });
        let at = 0;
        let run = '';
        const expectRun = () => {
          const found = result.indexOf(run, at);
          expect(found).not.toBe(-1);
          at = found + run.length;
        };
        for (const { key: name, before, text, after } of spelled.members) {
          if (!remove.includes(name)) run += run === '' ? text : `,${before}${text}`;
          if (!remove.includes(name)) run += after;
          else if (run !== '') {
            // White space before a comma that goes may go with it.
            run = run.trimEnd();
            expectRun();
            run = '';
          }
        }
        expectRun();
        expect(result.startsWith(`${spelled.start}{`)).toBe(true);
        expect(result.endsWith(`}${spelled.end}`)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  it('gives the body itself back where nothing changes', () => {
    const given = new RequestBytes([Buffer.from('{"a": 1}')]);
    expect(edit(given, { remove: ['b'] })).toBe(given);
  });

  it.each([
    ['{ "a": 1,\n  "b": 2,\n  "c": 3 }', ['a'], '{ "b": 2,\n  "c": 3 }'],
    ['{ "a": 1,\n  "b": 2,\n  "c": 3 }', ['b'], '{ "a": 1,\n  "c": 3 }'],
    ['{ "a": 1,\n  "b": 2,\n  "c": 3 }', ['c'], '{ "a": 1,\n  "b": 2 }'],
    ['{ "a": 1,\n  "b": 2,\n  "c": 3 }', ['c', 'a', 'b'], '{  }'],
    ['{"a":1,"a":2,"b":{"a":3},"a":4}', ['a'], '{"b":{"a":3}}'],
    ['{"\\u0061":1,"b":"\\"a\\":1"}', ['a'], '{"b":"\\"a\\":1"}'],
  ])('removes from %j the keys %j with their commas', (text, remove, expected) => {
    expect(edited(text, { remove })).toBe(expected);
  });

  it('keeps only what is named, whatever else there is and however much of it', () => {
    const others = Array.from({ length: 1_000 }, (_, index) => `"x${index}":[${index}]`).join(' , ');
    const text = `{${others}, "model":"a",${others.replaceAll('x', 'y')},"messages":[] ,"z":1}`;
    expect(edited(text, { set: { model: '"b"' }, keepOnly: new Set(['model', 'messages']) })).toBe(
      '{"model":"b","messages":[]}',
    );
    expect(topLevelOf(Buffer.from(text), new Set(['model', 'messages'])).members).toHaveLength(5);
  });

  it('sets and removes in one go', () => {
    const text = '{ "speed": "fast", "model": "a", "n": [1], "stream": true }';
    const result = edited(text, { set: { model: '"b"', added: '1' }, remove: ['speed', 'stream'] });
    expect(result).toBe('{ "model": "b", "n": [1],"added":1 }');
  });

  it.each(['[]', '', '{"a":1', '{"a":[1}', '{1:2}', '{"a" 1}', '{"a":}', '{"a"x1}', '{"a":1 "b":2}'])(
    'refuses %j as no object',
    (text) => {
      expect(() => edited(text, { remove: ['z'] })).toThrow();
    },
  );

  it('refuses to set and remove one key', () => {
    expect(() => edited('{}', { set: { a: '1' }, remove: ['a'] })).toThrow('either set or removed');
  });
});
