import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify, { type FastifyRequest } from 'fastify';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { RequestId } from '../../../contracts/ids.ts';
import { AccessLog } from '../../../proxy/observation/access-log.ts';
import { RequestObserver } from '../../../proxy/observation/request-observer.ts';
import { RequestCounts } from '../../../proxy/request-counts.ts';
import { endedLater } from '../../fixtures/ended-later.ts';

const PLAIN = { figures: null, tracing: null, monotonic: () => 1 };
const statusOf = (line: string): number => JSON.parse(line).request.status;

it('a client that left before its answer began is told as 499, and one that left in it by the status that it had', () => {
  const lines: unknown[] = [];
  const counts = new RequestCounts();
  const writeLater = (make: () => string) => void lines.push(statusOf(make()));
  const accessLog = new AccessLog({ writeLater, lost: 0 }, () => expect.fail('told'));
  const observer = new RequestObserver({ counts, accessLog, ...PLAIN });
  const request = {
    method: 'POST',
    routeOptions: { url: '/v1/messages' },
    observed: null,
  } as unknown as FastifyRequest;
  observer.ended(request, 200, false);
  observer.ended(request, 200, true);
  expect([lines, new Map(counts.byStatus())]).toEqual([
    [499, 200],
    new Map([
      [200, 1],
      [499, 1],
    ]),
  ]);
});

it('a line that is made later has the time at which its request ended', () => {
  const made: (() => string)[] = [];
  const accessLog = new AccessLog({ writeLater: (make) => void made.push(make), lost: 0 }, () => expect.fail('told'));
  const observer = new RequestObserver({ ...PLAIN, counts: new RequestCounts(), accessLog });
  const now = vi.spyOn(Date, 'now').mockReturnValue(1_000);
  onTestFinished(() => now.mockRestore());
  const request = { method: 'GET', routeOptions: { url: '/me' }, observed: null } as unknown as FastifyRequest;
  observer.ended(Object.assign(request, { id: 'one' }), 200, true);
  observer.unreadable('two' as RequestId, null);
  now.mockReturnValue(2_000);
  expect(made.map((make) => JSON.parse(make()).time)).toEqual([1_000, 1_000]);
});

it('a line that cannot be made ends none of the others, and is told of', () => {
  const made: (() => string)[] = [];
  const untold: unknown[] = [];
  const onUntold = (error: unknown, requestId: string) => untold.push([requestId, String(error)]);
  const accessLog = new AccessLog({ writeLater: (make) => void made.push(make), lost: 0 }, onUntold);
  const observer = new RequestObserver({ ...PLAIN, counts: new RequestCounts(), accessLog });
  const requestOf = (id: string, method: unknown = 'POST') =>
    ({ id, method, routeOptions: { url: '/v1/messages' }, observed: null }) as unknown as FastifyRequest;
  observer.ended(requestOf('one'), 200, true);
  observer.ended(requestOf('none', Symbol('none')), 200, true);
  observer.ended(requestOf('two'), 201, true);
  const lines = made.map((make) => make());
  expect(lines.filter((line) => line !== '').map(statusOf)).toEqual([200, 201]);
  expect(untold).toEqual([['none', expect.stringContaining('TypeError')]]);
});

it('a request has spans where it is traced, and elsewhere none, whatever else observes it and its caller sends', async () => {
  const spans = { call: vi.fn(), callFailed: vi.fn(), callEnded: vi.fn(), ended: vi.fn() };
  const tracing = { begin: vi.fn(() => spans), lost: 0, close: async () => undefined };
  const observedBy = async (given: typeof tracing | null) => {
    const app = endedLater(Fastify());
    const accessLog = new AccessLog({ writeLater: () => undefined, lost: 0 }, () => expect.fail('told'));
    const parts = { ...PLAIN, counts: new RequestCounts(), accessLog };
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
