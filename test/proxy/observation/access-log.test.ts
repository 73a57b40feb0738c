import fc from 'fast-check';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { accountId, type RequestId } from '../../../contracts/ids.ts';
import { formatExactUsd, microUsd, PICO_PER_MICRO, picoUsd } from '../../../contracts/money.ts';
import { AccessLog } from '../../../proxy/observation/access-log.ts';
import { ObservedRequest } from '../../../proxy/observation/observed-request.ts';
import { asking, call, get, post } from '../../fixtures/gateway/call.ts';
import { postMessage, recorded } from '../../fixtures/gateway/post-message.ts';
import { openSocket, requestText, sendRaw, statusesOf } from '../../fixtures/gateway/raw-socket.ts';
import { callsUnderWay } from '../../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { head, reset, wait, write } from '../../upstream/answer.ts';
import { streamEvents } from '../../upstream/stream-events.ts';

type Line = Readonly<Record<string, unknown>>;

/** A gateway whose clock stands still but where a test moves it, and the access log's lines that it has written. */
async function observed() {
  const accessLines: string[] = [];
  const time = { nowMs: Date.parse('2026-11-22T12:00:00Z') };
  const started = await startOnUpstream(onTestFinished, { accessLines, clock: () => time.nowMs });
  const lines = (): Line[] => accessLines.map((line) => JSON.parse(line).request);
  /** Once there are so many. */
  const whenLines = async (count: number): Promise<Line[]> => {
    await expect.poll(() => accessLines.length).toBe(count);
    return lines();
  };
  return { ...started, time, lines, whenLines };
}

const TOKENS = { input: 10, output: 20, cacheRead: 3, cacheWrite5m: 2, cacheWrite1h: 1 };

it('has a line for a request: who, what, how it ended, what it used, cost and took', async () => {
  const { upstream, gateway, time, whenLines } = await observed();
  const events = streamEvents({ tokens: TOKENS });
  const [first, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [start = '', ...others] = events;
  upstream.answerWith([head(), wait(first.promise), write(start), wait(rest.promise), ...others.map(write)]);
  const answer = await postMessage(gateway, { stream: true });
  time.nowMs += 250;
  first.resolve();
  await answer.next();
  time.nowMs += 1_000;
  rest.resolve();
  await answer.rest();
  const [line] = await whenLines(1);
  const {
    usages: [usage],
    debits: [debit],
  } = await recorded(gateway);
  expect(line).toEqual({
    requestId: answer.headers['request-id'],
    ...{ method: 'POST', route: '/v1/messages', status: 200, outcome: 'completed' },
    ...{ accountId: 'acct_test', keyId: usage?.keyId, model: 'opal-medium', upstream: 'test' },
    upstreamRequestId: usage?.upstream.requestId,
    ...{ inputTokens: 10, outputTokens: 20, cacheReadTokens: 3, cacheWrite5mTokens: 2, cacheWrite1hTokens: 1 },
    ...{ lane: 'standard', usage: 'reported' },
    costUsd: formatExactUsd(picoUsd((debit?.amount ?? 0n) * PICO_PER_MICRO + (debit?.carryAfter ?? 0n))),
    ...{ firstByteMs: 250, overheadMs: 0, durationMs: 1_250 },
  });
  expect(debit?.amount).toBeGreaterThan(microUsd(0n));
});

it('has a line for whatever is refused, with its code and what is known of it by then', async () => {
  const { upstream, gateway, lines } = await observed();
  upstream.answerWith([reset]);
  const known = { accountId: 'acct_test', keyId: expect.stringMatching(/^key_/) };
  const at = { method: 'POST', route: '/v1/messages' };
  const model = 'opal-medium';
  const cases: [() => Promise<unknown>, Line][] = [
    [
      () => post({ ...gateway, key: 'sk-svc-wrong' }, '/v1/messages', asking(model)),
      { ...at, status: 401, code: 'invalid_credential' },
    ],
    [() => post(gateway, '/v1/messages', '{'), { ...at, ...known, status: 400, code: 'invalid_request' }],
    [
      () => post(gateway, '/v1/messages', asking('a secret')),
      { ...at, ...known, status: 404, code: 'model_not_found' },
    ],
    [
      () => post(gateway, '/v1/messages', asking('opal-gone')),
      { ...at, ...known, status: 410, code: 'model_retired', model: 'opal-gone' },
    ],
    [
      () => post(gateway, '/v1/messages', asking(model, { max_tokens: 1e9 })),
      { ...at, ...known, status: 402, code: 'insufficient_credits', model },
    ],
    [
      () => post(gateway, '/v1/messages', asking(model)),
      { ...at, ...known, status: 502, code: 'upstream_failed', model, upstream: 'test' },
    ],
    [
      () => post(gateway, '/nowhere/a%20secret?key=secret', {}),
      { method: 'POST', status: 404, code: 'route_not_found' },
    ],
    [() => get(gateway, '/me'), { ...known, method: 'GET', route: '/me', status: 200 }],
    [
      () => post(gateway, '/v1/messages/count_tokens', asking(model)),
      { ...known, method: 'POST', route: '/v1/messages/count_tokens', status: 200, model },
    ],
    [
      async () => {
        gateway.gateway.process.projections.park(accountId('acct_test'), 'a look');
        await post(gateway, '/v1/messages', asking(model));
      },
      { ...at, ...known, status: 529, code: 'account_set_aside' },
    ],
    [() => sendRaw(gateway.url, 'nonsense\r\n\r\n'), { status: 400, code: 'invalid_request' }],
    [() => call(gateway.url, '/%zz'), { method: 'GET', status: 404, code: 'route_not_found' }],
  ];
  for (const [ask, expected] of cases) {
    const before = lines().length;
    await ask();
    await expect.poll(() => lines().length).toBe(before + 1);
    const { requestId, durationMs, ...line } = lines()[before] ?? {};
    expect(requestId).toMatch(/^req_[0-9a-f]{32}$/);
    expect(line).toMatchObject(expected);
  }
  expect(JSON.stringify(lines())).not.toContain('secret');
  for (const path of ['/healthz', '/readyz']) await call(gateway.url, path);
  expect(lines()).toHaveLength(cases.length);
});

it('has one line for a request whose body breaks: who it was, and under which id its client was told', async () => {
  const { gateway, lines, whenLines } = await observed();
  const ofKey = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.key}\r\n`;
  const answer = await sendRaw(gateway.url, `${ofKey}transfer-encoding: chunked\r\n\r\nzz\r\n`);
  const [, requestId] = /^request-id: (\S+)\r$/m.exec(String(answer)) ?? [];
  const asked = { method: 'POST', route: '/v1/messages', status: 400, code: 'invalid_request' };
  expect(await whenLines(1)).toMatchObject([{ requestId, ...asked, accountId: 'acct_test' }]);
  await get(gateway, '/me');
  await whenLines(2);
  expect(lines().filter(({ status }) => status === 400)).toHaveLength(1);
});

it('has a line for a request whose client leaves before its turn on the connection, whatever it asks for; none for a probe', async () => {
  const { upstream, gateway, whenLines } = await observed();
  const sent = upstream.requests.length;
  const gate = Promise.withResolvers<void>();
  upstream.answerWith([head(), wait(gate.promise), reset]);
  const socket = await openSocket(gateway.url);
  const asked = JSON.stringify(asking('opal-medium', { stream: true }));
  socket.write(requestText(gateway.key, asked, []));
  await upstream.seen(sent);
  const got = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.key}\r\n\r\n`;
  const count = requestText(gateway.key, asked, []).replace('/v1/messages', '/v1/messages/count_tokens');
  socket.write(got('/healthz') + got('/me') + count + requestText(gateway.key, asked, []));
  await expect.poll(() => callsUnderWay(gateway.gateway)).toBe(3);
  socket.destroy();
  const known = { accountId: 'acct_test', keyId: expect.stringMatching(/^key_/), durationMs: 0 };
  const post = { method: 'POST', status: 499, ...known };
  const requestId = expect.stringMatching(/^req_/);
  expect(await whenLines(3)).toEqual([
    { requestId, method: 'GET', route: '/me', status: 499, durationMs: 0 },
    { requestId, ...post, route: '/v1/messages/count_tokens' },
    { requestId, ...post, route: '/v1/messages' },
  ]);
  expect(gateway.gateway.process.counts.byStatus()).toContainEqual([499, 3]);
  gate.resolve();
  await whenLines(4);
  await expect.poll(() => callsUnderWay(gateway.gateway)).toBe(0);
});

it('has one line for a request that waited for its turn, and was answered in it', async () => {
  const { gateway, whenLines, lines } = await observed();
  const asked = JSON.stringify(asking('opal-medium'));
  const me = `GET /me HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.key}\r\n\r\n`;
  const answers = await sendRaw(
    gateway.url,
    requestText(gateway.key, asked, []) + me + requestText(gateway.key, asked),
  );
  expect(statusesOf(answers)).toEqual(['200', '200', '200']);
  await get(gateway, '/v1/models');
  await whenLines(4);
  expect(lines().map(({ route, status }) => [route, status])).toEqual([
    ['/v1/messages', 200],
    ['/me', 200],
    ['/v1/messages', 200],
    ['/v1/models', 200],
  ]);
});

/** JSON has to write some of it otherwise, or an operator's screen would. */
const anyText = fc.string({ unit: fc.constantFrom(...'ab"\\/:{}\n\t\0\u007f\u2028é€😀\ud800', ' ') });
const count = fc.nat();
const instant = fc.constantFrom(0, 0.000_4, 1, 12.345_678, 1e21);
const anyRequest = fc.record({
  id: anyText,
  ...{ method: anyText, url: fc.option(anyText, { nil: undefined }), status: fc.integer({ min: 100, max: 599 }) },
  code: fc.constantFrom(null, 'invalid_request' as const, 'upstream_failed' as const),
  owner: fc.option(fc.record({ accountId: anyText, keyId: anyText })),
  ...{ model: fc.option(anyText), upstream: fc.option(anyText) },
  cost: fc.option(fc.bigInt({ min: 0n, max: 10n ** 20n })),
  ending: fc.option(
    fc.record({
      ...{ outcome: fc.constantFrom('completed', 'upstream_failed'), lane: fc.constantFrom('standard', 'batch') },
      ...{ source: fc.constantFrom('reported', 'estimated'), upstream: fc.record({ requestId: fc.option(anyText) }) },
      tokens: fc.record({ input: count, output: count, cacheRead: count, cacheWrite5m: count, cacheWrite1h: count }),
    }),
  ),
  ...{ readMs: instant, reloadWaitMs: instant, calledMs: instant, answeredMs: instant, firstByteMs: instant },
});

it('is as pino would write it, to the byte, whatever anything is called', () => {
  fc.assert(
    fc.property(anyRequest, ({ id, method, url, status, ...noted }) => {
      const lines: string[] = [];
      const log = new AccessLog({ writeLater: (make) => void lines.push(make()), lost: 0 }, () => expect.fail('told'));
      const request = { id, method, routeOptions: { url } };
      const observed = Object.assign(new ObservedRequest(request as never, 0.25, null), noted);
      log.write(observed, status, 17.000_25);
      log.writeUnreadable(id as RequestId);
      const byPino: string[] = [];
      const logger = pino({ base: null }, { write: (line: string) => byPino.push(line) });
      const { owner, model, upstream, cost, ending, code, firstByteMs, reloadWaitMs } = observed;
      const tokens = ending?.tokens;
      const ms = (value: number) => Math.round(value * 1_000) / 1_000;
      logger.info({
        request: {
          ...{ requestId: id, method, route: url, status, code: code ?? undefined, outcome: ending?.outcome },
          ...{ accountId: owner?.accountId, keyId: owner?.keyId, model: model ?? undefined },
          ...{ upstream: upstream ?? undefined, upstreamRequestId: ending?.upstream.requestId ?? undefined },
          ...{ inputTokens: tokens?.input, outputTokens: tokens?.output, cacheReadTokens: tokens?.cacheRead },
          ...{ cacheWrite5mTokens: tokens?.cacheWrite5m, cacheWrite1hTokens: tokens?.cacheWrite1h },
          ...{ lane: ending?.lane, usage: ending?.source, costUsd: cost === null ? undefined : formatExactUsd(cost) },
          firstByteMs: firstByteMs === 0 ? undefined : ms(firstByteMs - 0.25),
          reloadWaitMs: reloadWaitMs === 0 ? undefined : ms(reloadWaitMs),
          ...{
            overheadMs: observed.overheadMs === null ? undefined : ms(observed.overheadMs),
            durationMs: ms(16.750_25),
          },
        },
      });
      logger.info({ request: { requestId: id, status: 400, code: 'invalid_request' } });
      const timeless = (line: string) => line.replace(/"time":\d{13},/, '"time":0,');
      expect(lines.map(timeless)).toEqual(byPino.map(timeless));
    }),
  );
});
