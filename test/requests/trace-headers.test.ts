import { afterAll, expect, it } from 'vitest';
import { asking, post } from '../fixtures/gateway/call.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';

const { upstream, gateway } = await startOnUpstream(afterAll);
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** What the upstream saw of the trace of a request with these headers. */
async function seenOf(path: string, headers: Readonly<Record<string, string>>) {
  const before = upstream.requests.length;
  expect((await post(gateway, path, asking('opal-medium'), headers)).status).toBe(200);
  const { traceparent, tracestate } = upstream.requests[before]?.headers ?? {};
  return { traceparent, tracestate };
}

it.each(['/v1/messages', '/v1/messages/count_tokens'])('%s passes on its trace as it came', async (path) => {
  const given = { traceparent: TRACEPARENT, tracestate: 'vendor=1,other=2' };
  expect(await seenOf(path, given)).toEqual(given);
});

it('passes on nothing where there is nothing, or what is no trace', async () => {
  expect(await seenOf('/v1/messages', {})).toEqual({});
  expect(await seenOf('/v1/messages', { traceparent: 'of mine', tracestate: 'vendor=1' })).toEqual({});
});
