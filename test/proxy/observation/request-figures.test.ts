import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import type { Ending } from '../../../ledger/settlement/request-record.ts';
import { ObservedRequest } from '../../../proxy/observation/observed-request.ts';
import { RequestFigures } from '../../../proxy/observation/request-figures.ts';

function observed(more: Partial<ObservedRequest>): ObservedRequest {
  return Object.assign(
    new ObservedRequest({ routeOptions: {} } as FastifyRequest, 1_000, null),
    { readMs: 1_500 },
    more,
  );
}

it('has no more models and upstreams than its bound, and counts what comes beyond it together', () => {
  const figures = new RequestFigures(() => expect.fail('told'));
  const requests = 1_500;
  for (let number = 0; number < requests; number++)
    figures.ended(observed({ model: `opal-${number}`, upstream: 'test' }), 2_000);
  figures.ended(observed({ model: 'opal-0', upstream: 'test' }), 2_000);
  const all = [...figures.all()];
  expect(all).toHaveLength(1_001);
  const countOf = (model: string) =>
    all
      .find((of) => of.model === model)
      ?.times.get('refused')
      ?.durations.counts.reduce((sum, count) => sum + count, 0);
  expect([countOf('opal-0'), countOf('opal-999'), countOf('other')]).toEqual([2, 1, requests - 1_000]);
});

it('leaves out of what the gateway added the time until the body had come, and what the upstream took', () => {
  const figures = new RequestFigures(() => expect.fail('told'));
  figures.ended(observed({ model: 'opal', calledMs: 1_503, answeredMs: 4_000, firstByteMs: 4_004 }), 6_000);
  const times = [...figures.all()][0]?.times.get('refused');
  expect([times?.overheads.sum, times?.firstBytes.sum, times?.durations.sum]).toEqual([0.007, 3.004, 5]);
});

it('keeps apart by how it ended what a request took, and has no first byte of one that never came to it', () => {
  const figures = new RequestFigures(() => expect.fail('told'));
  const tokens = { input: 1, output: 1, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
  for (const [outcome, firstByteMs] of [
    ['completed', 2_001],
    ['client_disconnected', 2_002],
    ['upstream_refused', 0],
  ] as const) {
    const ending = { outcome, tokens } as Ending;
    figures.ended(observed({ ending, calledMs: 1_500, answeredMs: 2_000, firstByteMs }), 3_000);
  }
  const times = [...([...figures.all()][0]?.times ?? [])];
  expect(times.map(([outcome, of]) => [outcome, of.durations.sum, of.firstBytes.sum, of.overheads.sum])).toEqual([
    ['completed', 2, 1.001, 0.001],
    ['client_disconnected', 2, 1.002, 0.002],
    ['upstream_refused', 2, 0, 0],
  ]);
});

it('leaves out who was refused before a body was read', () => {
  const figures = new RequestFigures(() => expect.fail('told'));
  figures.ended(observed({ readMs: 0 }), 2_000);
  expect([...figures.all()]).toEqual([]);
});

it('counts whatever ended before it is asked, some together and the rest then', () => {
  const figures = new RequestFigures(() => expect.fail('told'));
  const counted = () =>
    [...figures.all()].map(({ times }) =>
      times.get('refused')?.durations.counts.reduce((sum, count) => sum + count, 0),
    );
  for (let number = 0; number < 150; number++) figures.ended(observed({ model: 'opal' }), 2_000);
  expect(counted()).toEqual([150]);
  figures.ended(observed({ model: 'opal' }), 2_000);
  expect(counted()).toEqual([151]);
  expect(counted()).toEqual([151]);
});

it('one that cannot be counted ends nothing of the others that are counted with it, and is told of', () => {
  const untold: string[] = [];
  const figures = new RequestFigures((error, requestId) => untold.push(`${requestId} ${error}`));
  const broken = { ending: { outcome: 'completed', tokens: null } as unknown as Ending, requestId: 'req_1' };
  for (const more of [{}, broken, {}]) figures.ended(observed({ model: 'opal', ...more }), 2_000);
  const times = [...figures.all()][0]?.times.get('refused');
  expect(times?.durations.counts.reduce((sum, count) => sum + count, 0)).toBe(2);
  expect(untold).toEqual([expect.stringMatching(/^req_1 TypeError/)]);
});
