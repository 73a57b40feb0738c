import fc from 'fast-check';
import { expect, it } from 'vitest';
import { accountId, accountStream, eventId, position, revision } from '../../../contracts/ids.ts';
import { exactEventLine } from '../../../ledger/export/exact-event-line.ts';

const place = {
  ...{ stream: accountStream(accountId('acme')), revision: revision(3), position: position(9), type: 'Some"Type' },
  id: eventId('019a5b3c-0000-7000-8000-00000000000a'),
};

/** The bytes of a part: as it stands in the line where that is an object, else what the string says. */
const takenOut = (line: string, data: string): string => {
  const after = line.slice(line.indexOf('"data":') + '"data":'.length);
  return after.startsWith('{') ? after.slice(0, data.length) : JSON.parse(line).data;
};

it('the stored bytes can be taken out of a line again, whatever was stored', () => {
  const texts = fc.oneof(
    fc.json(),
    fc.string(),
    fc.constantFrom('{"a":\n1}', '{ "a" : 1.0 }', '{"a":1} ', '{"a":"\u2028"}', '{"a":1', '[1]', '1e400'),
  );
  fc.assert(
    fc.property(texts, texts, (data, metadata) => {
      const line = exactEventLine({ ...place, data, metadata });
      expect(line.indexOf('\n')).toBe(line.length - 1);
      expect(Object.keys(JSON.parse(line))).toEqual([
        'stream',
        'revision',
        'position',
        'id',
        'type',
        'data',
        'metadata',
      ]);
      expect(takenOut(line, data)).toBe(data);
    }),
    { numRuns: 200 },
  );
});
