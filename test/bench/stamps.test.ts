import { expect, test } from 'vitest';
import { machineUs, stampsIn, stampText } from './stamps.ts';

test('a stamp is read back, also several of one piece; what is cut in two is not', () => {
  const [first, second] = [machineUs(), machineUs() + 1];
  const bytes = Buffer.from(`event: a\ndata: " ${stampText(first)}"\n\nevent: b\ndata: " ${stampText(second)}"\n\n`);
  expect(stampsIn(bytes)).toEqual([first, second]);
  expect(stampsIn(bytes.subarray(0, -5))).toEqual([first]);
  expect(stampsIn(Buffer.from('nothing'))).toEqual([]);
});
