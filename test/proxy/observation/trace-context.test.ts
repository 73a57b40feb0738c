import { expect, it } from 'vitest';
import { traceContextOf } from '../../../proxy/observation/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const PARENT = `00-${TRACE}-${SPAN}-01`;

it.each([
  ['as version 0 has it', PARENT],
  ['not sampled', `00-${TRACE}-${SPAN}-00`],
  ['of a later version, which may say more', `cc-${TRACE}-${SPAN}-01-what.is.more`],
])('a traceparent %s is passed on as it came', (_, traceparent) => {
  expect(traceContextOf({ traceparent })).toEqual({ traceparent, tracestate: null });
});

it.each([
  ['nothing', ''],
  ['in capitals', PARENT.toUpperCase()],
  ['of version 255', `ff${PARENT.slice(2)}`],
  ['of no trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['of no span', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['longer than version 0 is', `${PARENT}-more`],
  ['sent twice', `${PARENT}, ${PARENT}`],
  ['that ends in a line', `${PARENT}\n`],
  ['without bounds', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(500)}`],
])('a traceparent that is %s is none', (_, traceparent) => {
  expect(traceContextOf({ traceparent, tracestate: 'vendor=1' })).toBeNull();
});

it.each([
  ['is passed on as it came', 'vendor=1,other=a b', 'vendor=1,other=a b'],
  ['that is longer than has to be passed on is left out', `vendor=${'x'.repeat(506)}`, null],
  ['with what no header may hold is left out', 'vendor=\u00e9', null],
  ['that is empty is left out', '', null],
])('a tracestate %s', (_, tracestate, passed) => {
  expect(traceContextOf({ traceparent: PARENT, tracestate })).toEqual({ traceparent: PARENT, tracestate: passed });
});

it('a tracestate alone is none', () => {
  expect(traceContextOf({ tracestate: 'vendor=1' })).toBeNull();
});
