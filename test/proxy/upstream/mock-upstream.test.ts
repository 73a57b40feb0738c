import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { accountId } from '../../../contracts/ids.ts';
import { BodyThreads } from '../../../proxy/request-body/body-threads.ts';
import { READ_AT_ONCE_VALUES_MAX, WAITING_OF_ONE_MAX } from '../../../proxy/request-body/limits.ts';
import { mockMessage } from '../../../proxy/request-body/mock-reply.ts';
import { RequestBytes } from '../../../proxy/request-body/request-bytes.ts';
import { MockUpstream } from '../../../proxy/upstream/mock-upstream.ts';
import type { UpstreamError } from '../../../proxy/upstream/upstream.ts';

const threads = new BodyThreads();
afterEach(() => threads.close());

/** In values, not in bytes: a thread reads it, too. */
const LONG = JSON.stringify({
  model: 'svc-mock',
  max_tokens: 1,
  messages: [{ role: 'user', content: 'hello' }],
  unknown: Array(READ_AT_ONCE_VALUES_MAX + 1).fill(0),
});

/** What a call with a long body is told, and how it is taken back. */
function ask(mock: MockUpstream, account: string) {
  const { promise: told, resolve } = Promise.withResolvers<number | UpstreamError>();
  const body = new RequestBytes([Buffer.from(LONG)]);
  const leave = mock.send(
    {
      path: '/v1/messages',
      body,
      owner: { accountId: accountId(account), hasPaid: true },
      version: null,
      beta: null,
      trace: null,
    },
    {
      onStart: () => undefined,
      onHead: resolve,
      onEncoded: () => undefined,
      onData: () => undefined,
      onEnd: () => undefined,
      onError: resolve,
    },
  );
  return { told, leave };
}

it("reads long bodies in the turn of their account, whatever another's are waiting, and none that nobody waits for", async () => {
  const mock = new MockUpstream(threads);
  const many = Array.from({ length: WAITING_OF_ONE_MAX + 10 }, () => ask(mock, 'acct_many'));
  const other = ask(mock, 'acct_other');
  const answered: (number | UpstreamError)[] = [];
  for (const { told } of many) void told.then((outcome) => answered.push(outcome));
  expect(await other.told).toBe(200);
  expect(answered.length).toBeLessThan(WAITING_OF_ONE_MAX);
  const refused = answered.filter((outcome) => outcome !== 200);
  expect(refused).toContainEqual(expect.objectContaining({ kind: 'unreached' }));
  for (const { leave } of many) leave();
  // What was read when they left is answered in the next turn.
  await nextTurn();
  const before = [...answered];
  expect(await ask(mock, 'acct_many').told).toBe(200);
  expect(answered).toEqual(before);
  expect(answered.filter((outcome) => outcome !== 200)).toEqual(refused);
});

it.each([
  ['a value of any length', { name: 't', input_schema: { enum: ['x'.repeat(100_000)] } }, { name: 't', input: null }],
  [
    'any number of properties',
    {
      name: 't',
      input_schema: { properties: Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`p${at}`, {}])) },
    },
    { name: 't', input: expect.objectContaining({ p0: {}, p62: {} }) },
  ],
  ['a property of any name', { name: 't', input_schema: { properties: { ['p'.repeat(10_000)]: {} } } }, { input: {} }],
  ['properties that are none', { name: 't', input_schema: { properties: 'x'.repeat(100) } }, { input: {} }],
  ['a schema that is none', { name: 't', input_schema: 'x' }, { input: null }],
  ['a name of any length', { name: 'n'.repeat(1_000), input_schema: {} }, { type: 'text' }],
  [
    'a few properties',
    { name: 't', input_schema: { properties: { a: { type: 'string' } } } },
    { input: { a: 'mock' } },
  ],
])('answers shortly where a tool has %s', (_title, tool, expected) => {
  const request = { model: 'svc-mock', max_tokens: 1, messages: [{ role: 'user', content: 'hello' }], tools: [tool] };
  const { message } = mockMessage(Buffer.from(JSON.stringify(request)));
  expect(message.content).toEqual([expect.objectContaining(expected)]);
  expect(JSON.stringify(message.content).length).toBeLessThan(5_000);
});
