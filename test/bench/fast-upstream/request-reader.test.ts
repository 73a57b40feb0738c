import { expect, test } from 'vitest';
import { RequestReader } from './request-reader.ts';

const REQUEST = Buffer.from('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');

test('gives a request when its last byte is there, wherever it is cut', () => {
  for (let cut = 1; cut < REQUEST.length; cut++) {
    const reader = new RequestReader();
    expect(reader.push(REQUEST.subarray(0, cut))).toBeNull();
    expect(reader.push(REQUEST.subarray(cut))).toEqual(REQUEST);
  }
});

test('gives request after request', () => {
  const reader = new RequestReader();
  expect([reader.push(REQUEST), reader.push(REQUEST)]).toEqual([REQUEST, REQUEST]);
});

test('refuses what it cannot cut', () => {
  expect(() => new RequestReader().push(Buffer.concat([REQUEST, REQUEST]))).toThrow('pipelined');
  expect(() => new RequestReader().push(Buffer.from('POST / HTTP/1.1\r\n\r\n'))).toThrow('content-length');
});
