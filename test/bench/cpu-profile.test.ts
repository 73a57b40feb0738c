import { expect, test } from 'vitest';
import { selfTimes } from './cpu-profile.ts';

const node = (id: number, functionName: string, url = '', lineNumber = -1) => ({
  id,
  callFrame: { functionName, url, lineNumber },
});
const ROOT = new URL('../../', import.meta.url).href;

test('adds up self time by function, and leaves idle time out', () => {
  const profile = {
    nodes: [
      node(1, '(idle)'),
      node(2, 'relay', `${ROOT}proxy/relay.ts`, 9),
      node(3, ''),
      node(4, 'relay', `${ROOT}proxy/relay.ts`, 9),
    ],
    samples: [1, 2, 3, 4, 1],
    timeDeltas: [1000, 30, 20, 50, 1000],
  };
  expect(selfTimes(profile)).toEqual([
    { where: 'relay  proxy/relay.ts:10', us: 80, share: 0.8 },
    { where: '(anonymous)', us: 20, share: 0.2 },
  ]);
});

test('refuses what is no profile', () => {
  expect(() => selfTimes({ nodes: 'none' })).toThrow();
});
