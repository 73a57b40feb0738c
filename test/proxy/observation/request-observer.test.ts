import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify, { type FastifyRequest } from 'fastify';
import { expect, it, vi } from 'vitest';
import { AccessLog } from '../../../proxy/observation/access-log.ts';
import { RequestObserver } from '../../../proxy/observation/request-observer.ts';
import { RequestCounts } from '../../../proxy/request-counts.ts';
import { endedLater } from '../../fixtures/ended-later.ts';

const PLAIN = { figures: null, tracing: null, monotonic: () => 1 };
const statusOf = (line: string): number => JSON.parse(line).request.status;

it('a client that left before its answer began is told as 499, and one that left in it by the status that it had', async () => {
  const lines: unknown[] = [];
  const counts = new RequestCounts();
  const write = (line: string) => void lines.push(statusOf(line));
  const accessLog = new AccessLog({ write, lost: 0 });
  const onUntold = () => expect.fail('told');
  const observer = new RequestObserver({ counts, accessLog, ...PLAIN, onUntold });
  const request = {
    method: 'POST',
    routeOptions: { url: '/v1/messages' },
    observed: null,
  } as unknown as FastifyRequest;
  observer.ended(request, 200, false);
  observer.ended(request, 200, true);
  // Of all that ended in a turn together.
  expect(lines).toEqual([]);
  await nextTurn();
  expect([lines, new Map(counts.byStatus())]).toEqual([
    [499, 200],
    new Map([
      [200, 1],
      [499, 1],
    ]),
  ]);
});

it('a line that cannot be made or written ends none of the others of its turn, and is told of', async () => {
  const lines: unknown[] = [];
  const write = (line: string) => {
    if (statusOf(line) === 500) throw new Error('no line');
    lines.push(statusOf(line));
  };
  const untold: unknown[] = [];
  const observer = new RequestObserver({
    ...PLAIN,
    counts: new RequestCounts(),
    accessLog: new AccessLog({ write, lost: 0 }),
    onUntold: (error, requestId) => untold.push([requestId, String(error)]),
  });
  const requestOf = (id: string, route: unknown = { url: '/v1/messages' }) =>
    ({ id, method: 'POST', routeOptions: route, observed: null }) as unknown as FastifyRequest;
  observer.ended(requestOf('one'), 200, true);
  observer.ended(requestOf('written'), 500, true);
  observer.ended(requestOf('made', null), 200, true);
  observer.ended(requestOf('two'), 201, true);
  await nextTurn();
  expect(lines).toEqual([200, 201]);
  expect(untold).toEqual([
    ['written', 'Error: no line'],
    ['made', expect.stringContaining('TypeError')],
  ]);
});

it('a request has spans where it is traced, and elsewhere none, whatever else observes it and its caller sends', async () => {
  const spans = { call: vi.fn(), callFailed: vi.fn(), callEnded: vi.fn(), ended: vi.fn() };
  const tracing = { begin: vi.fn(() => spans), lost: 0, close: async () => undefined };
  const observedBy = async (given: typeof tracing | null) => {
    const app = endedLater(Fastify());
    const accessLog = new AccessLog({ write: () => undefined, lost: 0 });
    const parts = { ...PLAIN, counts: new RequestCounts(), accessLog, onUntold: () => expect.fail('told') };
    new RequestObserver({ ...parts, tracing: given }).observe(app);
    let observed: unknown;
    app.get('/', (request) => {
      observed = request.observed?.spans;
      return '';
    });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    expect((await app.inject({ url: '/', headers: { traceparent } })).statusCode).toBe(200);
    await nextTurn();
    return observed;
  };
  expect(await observedBy(null)).toBe(null);
  expect(await observedBy(tracing)).toBe(spans);
  expect([tracing.begin.mock.calls.length, spans.ended.mock.calls.length]).toEqual([1, 1]);
});
