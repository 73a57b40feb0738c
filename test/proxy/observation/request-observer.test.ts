import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { AccessLog } from '../../../proxy/observation/access-log.ts';
import { RequestObserver } from '../../../proxy/observation/request-observer.ts';
import { RequestCounts } from '../../../proxy/request-counts.ts';

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
