import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { accountId } from '../../../contracts/ids.ts';
import { BodyThreads } from '../../../proxy/request-body/body-threads.ts';
import {
  READ_AT_ONCE_BYTES_MAX,
  READ_AT_ONCE_VALUES_MAX,
  THREADS_MAX,
  WAITING_OF_ONE_MAX,
} from '../../../proxy/request-body/limits.ts';
import { readFacts } from '../../../proxy/request-body/read-facts.ts';
import { RequestBytes } from '../../../proxy/request-body/request-bytes.ts';
import { factsOf } from '../../../proxy/request-body/request-facts.ts';
import { RequestCounts } from '../../../proxy/request-counts.ts';
import { asking } from '../../fixtures/gateway/call.ts';
import { requestText, sendRaw, statusesOf } from '../../fixtures/gateway/raw-socket.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';

const threads = new BodyThreads();
afterAll(() => threads.close());

const WINDOW = 200_000;
const text = (more: object) =>
  JSON.stringify({ model: 'm', max_tokens: 7, messages: [{ role: 'user', content: 'hello' }], ...more });
const bytesOf = (body: string) => new RequestBytes([Buffer.from(new Uint8Array(Buffer.from(body)).buffer)]);
const wanted = {
  headers: {},
  owner: { accountId: accountId('acct_one'), hasPaid: true },
  isWanted: () => true,
  windowMax: () => WINDOW,
};
const read = (bytes: RequestBytes, counts = new RequestCounts()) =>
  readFacts('message', { bytes, ...wanted }, { threads, counts });

/** Brackets and commas of a request whose strings have none. */
const valuesOf = (body: string): number => body.match(/[[{,]/g)?.length ?? 0;
/** A request of so many values. */
const ofValues = (values: number): string => {
  const beside = valuesOf(text({ next: [1] }));
  return text({ next: Array(values - beside + 1).fill(1) });
};

/** What an agent sends: its instructions, tools with their schemas, and some turns of tool calls with their results. */
const property = { type: 'string', description: 'The path of the file, from the folder of the project.' };
const schema = { type: 'object', properties: { path: property, from: property, to: property }, required: ['path'] };
const description = 'Reads a file of the project, or the part of it that is asked for. '.repeat(8);
const tools = Array.from({ length: 18 }, (_, index) => ({ name: `tool_${index}`, description, input_schema: schema }));
const turns = Array.from({ length: 15 }, (_, index) => [
  { role: 'assistant', content: [{ type: 'tool_use', id: `t${index}`, name: 'tool_1', input: { path: 'a/b' } }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${index}`, content: 'a line of it\n'.repeat(90) }] },
]).flat();
const system = [{ type: 'text', text: 'You change code. '.repeat(200), cache_control: { type: 'ephemeral' } }];
const agent = text({ system, tools, messages: [{ role: 'user', content: 'mend it' }, ...turns] });

it('a long body behind too many of its account is refused, and counted among the refusals', async () => {
  const counts = new RequestCounts();
  const long = (): RequestBytes => bytesOf(ofValues(READ_AT_ONCE_VALUES_MAX + 1));
  const pieces = (): Buffer[] => [Buffer.from(new Uint8Array(Buffer.from('{}')).buffer)];
  const waiting = Array.from({ length: WAITING_OF_ONE_MAX + THREADS_MAX }, () =>
    threads.facts('message', { pieces: pieces(), windowMax: WINDOW }, wanted).catch(() => null),
  );
  const refused = await read(long(), counts);
  expect([refused, counts.byBound('bodiesWaiting')]).toMatchObject([{ code: 'rate_limited' }, 1]);
  await Promise.all(waiting);
  expect([await read(long(), counts), counts.byBound('bodiesWaiting')]).toMatchObject([{ type: 'facts' }, 1]);
});

describe('a body', () => {
  it('is spelled here with as many values as it is to have', () => {
    for (const values of [100, READ_AT_ONCE_VALUES_MAX]) expect(valuesOf(ofValues(values))).toBe(values);
    expect(agent.length).toBeGreaterThan(READ_AT_ONCE_BYTES_MAX / 2);
    expect(valuesOf(agent)).toBeGreaterThan(300);
  });

  it.each([
    ['as much text as may be', text({ next: 'x'.repeat(READ_AT_ONCE_BYTES_MAX - text({ next: '' }).length) })],
    ['brackets and commas in its text', text({ next: '[{,'.repeat(20_000) })],
    ['as many values as may be', ofValues(READ_AT_ONCE_VALUES_MAX)],
    ["an agent's request", agent],
    ['no JSON', '{'],
  ])('is read at once and weighed by nobody: %s', (_title, body) => {
    const bytes = bytesOf(body);
    expect(bytes.length).toBeLessThanOrEqual(READ_AT_ONCE_BYTES_MAX);
    const facts = read(bytes);
    expect(facts).not.toBeInstanceOf(Promise);
    expect(facts).toEqual(factsOf('message', Buffer.from(body), null));
    if (!('then' in facts) && facts.type === 'facts') expect(facts.inputWeight).toBe(null);
    bytes.free();
  });

  it.each([
    ['a byte too many', text({ next: 'x'.repeat(READ_AT_ONCE_BYTES_MAX + 1 - text({ next: '' }).length) })],
    ['a value too many', ofValues(READ_AT_ONCE_VALUES_MAX + 1)],
    ['keys', text(Object.fromEntries(Array.from({ length: 6_500 }, (_, index) => [`k${index}`, 1])))],
    ['empty blocks', text({ messages: [{ role: 'user', content: Array(2_000).fill({ type: 'text', text: '' }) }] })],
    ['wrong elements', text({ messages: Array(30_000).fill(1) })],
    ['brackets that nobody closes', '['.repeat(60_000)],
  ])('is read by a thread, and weighed there: %s', async (_title, body) => {
    const bytes = bytesOf(body);
    const facts = read(bytes);
    expect(facts).toBeInstanceOf(Promise);
    expect(await facts).toEqual(factsOf('message', Buffer.from(body), WINDOW));
    expect(Buffer.concat(bytes.pieces).toString()).toBe(body);
    expect(() => bytes.whole).toThrow('a long body is read by a thread');
  });

  it('stays one piece as long as it has few bytes, however many its values are and whatever changes', () => {
    const body = ofValues(READ_AT_ONCE_VALUES_MAX + 1);
    const changed = bytesOf(body).changed([{ from: body.length - 1, to: body.length - 1, text: ',"added":1' }]);
    expect(changed.pieces).toHaveLength(1);
    expect(changed.isShort).toBe(false);
  });

  it('that was but asked for its values is free at once when nobody wants it', () => {
    const piece = Buffer.from(new Uint8Array(Buffer.from(agent)).buffer);
    const bytes = new RequestBytes([piece]);
    expect(bytes.isShort).toBe(true);
    bytes.free();
    expect(piece.buffer.byteLength).toBe(0);
  });
});

const MANY = Array(READ_AT_ONCE_VALUES_MAX).fill(1);

it('bodies of many values on one connection go upstream as they came, also where both came in one piece', async () => {
  const { upstream, gateway } = await startOnUpstream(onTestFinished);
  const bodies = [1, 2].map((next) => JSON.stringify(asking('opal-medium', { next, metadata: { many: MANY } })));
  const [first = '', second = ''] = bodies;
  const answers = await sendRaw(gateway.url, requestText(gateway.key, first, []) + requestText(gateway.key, second));
  expect(statusesOf(answers)).toEqual(['200', '200']);
  expect(upstream.requests.map(({ body }) => body.toString()).sort()).toEqual(bodies);
});
