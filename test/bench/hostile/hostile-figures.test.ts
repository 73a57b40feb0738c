import { expect, test } from 'vitest';
import { exceededBound } from '../../../proxy/request-body/json-scan.ts';
import { factsOf } from '../../../proxy/request-body/request-facts.ts';
import { HOSTILE_BODIES } from './hostile-bodies.ts';
import { hostileFigures, hostileReport } from './hostile-figures.ts';

const MIB = 1024 * 1024;

test('the figure of a body is the median of its windows', () => {
  const sample = (besideP99Us: number, turnMaxMs: number) => {
    return {
      body: 'a',
      aloneP99Us: 1_000,
      sinkP99Us: besideP99Us / 2,
      besideP99Us,
      turnMaxMs,
      statuses: { 402: 2, closed: 1 },
    };
  };
  const figures = hostileFigures([
    sample(1_500, 10),
    sample(9_000, 90),
    sample(1_000, 20),
    { ...sample(3_000, 5), body: 'b' },
  ]);
  expect(figures).toEqual([
    { body: 'a', p99Ratio: 1.5, sinkRatio: 0.75, turnMaxMs: 90, bodies: 9 },
    { body: 'b', p99Ratio: 3, sinkRatio: 1.5, turnMaxMs: 5, bodies: 3 },
  ]);
  expect(hostileReport(figures)).toMatch(/1\.50x.*0\.75x/);
});

test('each body is as long as its name says, and none longer than is taken', () => {
  for (const make of Object.values(HOSTILE_BODIES)) expect(make().length).toBeLessThanOrEqual(32 * MIB);
  expect(HOSTILE_BODIES['one long text']().length).toBeGreaterThan(31 * MIB);
  const bounds = { depthMax: 512, valuesMax: 200_000 };
  const exceeded = (name: keyof typeof HOSTILE_BODIES) => exceededBound(Buffer.from(HOSTILE_BODIES[name]()), bounds);
  expect(exceeded('millions of wrong elements')).toBe('valuesMax');
  expect(exceeded('brackets without an end')).toBe('depthMax');
  expect(exceeded('as many wrong elements as are looked at')).toBe(null);
  expect(factsOf('message', Buffer.from(HOSTILE_BODIES['as many blocks as fit']()), 1)).toMatchObject({
    type: 'facts',
  });
  expect(factsOf('message', Buffer.from(HOSTILE_BODIES['escapes and white space']()), 1)).toMatchObject({
    type: 'facts',
  });
});
