import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { AccessLog } from '../../../proxy/observation/access-log.ts';
import { RequestObserver } from '../../../proxy/observation/request-observer.ts';
import { RequestCounts } from '../../../proxy/request-counts.ts';

it('a client that left before its answer began is told as 499, and one that left in it by the status that it had', async () => {
  const lines: unknown[] = [];
  const logger = { info: ({ request: { status } }: { request: { status: number } }) => void lines.push(status) };
  const counts = new RequestCounts();
  const accessLog = new AccessLog({ logger: logger as never, lost: 0 });
  const observer = new RequestObserver({ counts, accessLog, figures: null, tracing: null, monotonic: () => 1 });
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
