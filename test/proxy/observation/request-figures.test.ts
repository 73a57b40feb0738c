import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { ObservedRequest } from '../../../proxy/observation/observed-request.ts';
import { RequestFigures } from '../../../proxy/observation/request-figures.ts';

function observed(more: Partial<ObservedRequest>): ObservedRequest {
  return Object.assign(new ObservedRequest({} as FastifyRequest, 1_000, null), { readMs: 1_500 }, more);
}

it('has no more models and upstreams than its bound, and counts what comes beyond it together', () => {
  const figures = new RequestFigures();
  const requests = 1_500;
  for (let number = 0; number < requests; number++)
    figures.ended(observed({ model: `opal-${number}`, upstream: 'test' }), 2_000);
  figures.ended(observed({ model: 'opal-0', upstream: 'test' }), 2_000);
  const all = [...figures.all()];
  expect(all).toHaveLength(1_001);
  const countOf = (model: string) =>
    all
      .find((of) => of.model === model)
      ?.durations.get('refused')
      ?.counts.reduce((sum, count) => sum + count, 0);
  expect([countOf('opal-0'), countOf('opal-999'), countOf('other')]).toEqual([2, 1, requests - 1_000]);
});

it('leaves out of what the gateway added the time until the body had come, and what the upstream took', () => {
  const figures = new RequestFigures();
  figures.ended(observed({ model: 'opal', calledMs: 1_503, answeredMs: 4_000, firstByteMs: 4_004 }), 6_000);
  const [of] = figures.all();
  expect([of?.overheads.sum, of?.firstBytes.sum, of?.durations.get('refused')?.sum]).toEqual([0.007, 3.004, 5]);
});

it('leaves out who was refused before a body was read', () => {
  const figures = new RequestFigures();
  figures.ended(observed({ readMs: 0 }), 2_000);
  expect([...figures.all()]).toEqual([]);
});
