import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { accountId } from '../../../contracts/ids.ts';
import { rateLimitsSchema } from '../../../contracts/rate-limits.ts';
import { BodyNotReadError, BodyThreads } from '../../../proxy/request-body/body-threads.ts';
import { READ_AT_ONCE_BYTES_MAX, THREADS_MAX, WAITING_OF_ONE_MAX } from '../../../proxy/request-body/limits.ts';
import { RequestBytes } from '../../../proxy/request-body/request-bytes.ts';
import { factsOf } from '../../../proxy/request-body/request-facts.ts';

const open: BodyThreads[] = [];
const threads = (...times: ConstructorParameters<typeof BodyThreads>): BodyThreads => {
  const made = new BodyThreads(...times);
  open.push(made);
  return made;
};
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

const WINDOW = 200_000;
const ownerOf = (name: string, hasPaid = true) => ({ accountId: accountId(`acct_${name}`), hasPaid });
const wanted = (name = 'one', hasPaid = true) => ({ owner: ownerOf(name, hasPaid), isWanted: () => true });
const body = (more: object) =>
  Buffer.from(JSON.stringify({ model: 'm', max_tokens: 7, messages: [{ role: 'user', content: 'hello' }], ...more }));
/** In buffers of their own, cut at places that mean nothing. */
const inPieces = (whole: Buffer, bytes = 70_001): Buffer[] =>
  Array.from({ length: Math.ceil(whole.length / bytes) }, (_, index) => {
    const piece = whole.subarray(index * bytes, (index + 1) * bytes);
    return Buffer.from(new Uint8Array(piece).buffer);
  });
const workers = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;
const LONG = 'naïve wörds, 漢字 "and" \\ slashes. '.repeat(20_000);

describe('reading a body in another thread', () => {
  it.each([
    [
      'a conversation',
      body({
        messages: [
          { role: 'user', content: LONG },
          { role: 'system', content: LONG },
        ],
      }),
    ],
    [
      'blocks, tools, caches and fields that nobody knows',
      body({
        stream: true,
        speed: null,
        next: [LONG],
        system: [{ type: 'text', text: LONG, cache_control: { type: 'ephemeral', ttl: '1h' } }],
        tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }],
        thread: { type: 'create' },
      }),
    ],
    ['wrong elements', body({ messages: Array(150_000).fill(1) })],
    ['what is no JSON', body({ next: LONG }).subarray(0, -1)],
    ['what is no UTF-8', Buffer.concat([body({ next: LONG }), Buffer.of(0xff)])],
    ['too many values', body({ next: Array(300_000).fill(1) })],
    ['a key that stands twice', Buffer.from(`{"model":"a",${body({ next: LONG }).toString().slice(1)}`)],
  ])('says the same as reading it at once, and gives its bytes back: %s', async (_title, whole) => {
    const bytes = new RequestBytes(inPieces(whole));
    const pool = threads();
    for (const kind of ['message', 'count'] as const) {
      const read = await bytes.lend((pieces) => pool.facts(kind, { pieces, windowMax: WINDOW }, wanted()));
      expect(read).toEqual(factsOf(kind, whole, WINDOW));
      expect(Buffer.concat(bytes.pieces).equals(whole)).toBe(true);
    }
  });

  it('tells few places, however many members there are', async () => {
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`key${index}`, index]));
    const whole = body({
      ...many,
      temperature: 1,
      ...Object.fromEntries(Object.entries(many).map(([k, v]) => [`x${k}`, v])),
    });
    const pieces = inPieces(whole);
    const { value } = await threads().facts('message', { pieces, windowMax: WINDOW }, wanted());
    if (value.type === 'refusal') throw new Error(value.message);
    expect(value.topLevel.members.length).toBeLessThan(20);
    expect(JSON.stringify(value).length).toBeLessThan(4_096);
  });

  it('takes the shares in turn, whatever one of them has waiting', async () => {
    const pool = threads();
    const order: string[] = [];
    const ask = async (share: string): Promise<void> => {
      const pieces = inPieces(body({ next: LONG }));
      await pool.facts('message', { pieces, windowMax: WINDOW }, wanted(share));
      order.push(share);
    };
    // Both threads have started.
    await Promise.all([ask('one'), ask('two')]);
    const hostile = Array.from({ length: 12 }, () => ask('hostile'));
    await Promise.all([...hostile, ask('paying')]);
    expect(order.slice(2).indexOf('paying')).toBeLessThan(5);
  });

  it('reads one body at a time of those that never paid, however many there are: a thread is left for who pays', async () => {
    const pool = threads();
    const order: string[] = [];
    const ask = async (name: string, hasPaid: boolean, next: string): Promise<void> => {
      const pieces = inPieces(body({ next }));
      await pool.facts('message', { pieces, windowMax: WINDOW }, wanted(name, hasPaid));
      order.push(name);
    };
    // Both threads have started.
    await Promise.all([ask('one', true, LONG), ask('two', true, LONG)]);
    await Promise.all([ask('long', false, LONG.repeat(10)), ask('short', false, ''), ask('paying', true, '')]);
    expect(order.slice(2)).toEqual(['paying', 'long', 'short']);
  });

  it('is given up where it takes too long, and its thread with it', async () => {
    const before = workers();
    // Less than a thread takes to start.
    const pool = threads({ readingMsMax: 1 });
    const slow = pool.facts('message', { pieces: inPieces(body({ next: LONG })), windowMax: WINDOW }, wanted());
    await expect(slow).rejects.toThrow('the thread that read it has ended');
    await expect.poll(workers).toBe(before);
  });

  it('is a fault of the one body where reading it throws: its thread reads the next', async () => {
    const before = workers();
    const pool = threads();
    // No number can be counted with it.
    const windowMax = 1n as unknown as number;
    const read = pool.facts('message', { pieces: inPieces(body({ next: LONG })), windowMax }, wanted());
    await expect(read).rejects.toThrow(/^the body could not be read: TypeError/);
    await expect(read).rejects.not.toBeInstanceOf(BodyNotReadError);
    expect(workers() - before).toBe(1);
    const next = pool.facts('message', { pieces: inPieces(body({})), windowMax: WINDOW }, wanted());
    await expect(next).resolves.toMatchObject({ value: { type: 'facts' } });
    expect(workers() - before).toBe(1);
  });

  it('is told at once where no thread can be started', () => {
    const told = execFileSync(
      process.execPath,
      // A process that may start none.
      ['--permission', '--allow-fs-read=*', join(import.meta.dirname, 'fixtures/without-threads.ts')],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    );
    const refused = { name: 'BodyNotReadError', message: 'no thread can be started', isOfShare: false };
    expect(JSON.parse(told)).toEqual([refused, refused, refused]);
  });

  it('leaves no thread behind that had nothing to do for a while; the next body has a new one', async () => {
    const before = workers();
    const pool = threads({ idleMs: 1 });
    for (let bodies = 0; bodies < 2; bodies++) {
      const read = pool.facts('message', { pieces: inPieces(body({})), windowMax: WINDOW }, wanted());
      await expect(read).resolves.toMatchObject({ value: { type: 'facts' } });
      await expect.poll(workers).toBe(before);
    }
  });

  it('starts no thread for which nothing is to be read', async () => {
    const pool = threads();
    const before = workers();
    const ask = () => pool.facts('message', { pieces: inPieces(body({})), windowMax: WINDOW }, wanted('one', false));
    await Promise.all([ask(), ask(), ask()]);
    expect(workers() - before).toBe(1);
  });

  it('lets so many of one share wait, and those of another all the same', async () => {
    const pool = threads();
    const ask = (share: string) =>
      pool.facts('message', { pieces: inPieces(body({})), windowMax: WINDOW }, wanted(share));
    const refused: unknown[] = [];
    const read: Promise<unknown>[] = [];
    // Besides those that wait there is one for each thread.
    for (let index = 0; index < WAITING_OF_ONE_MAX + THREADS_MAX; index++)
      read.push(ask('hostile').catch((error: unknown) => refused.push(error)));
    await expect(ask('hostile')).rejects.toMatchObject({ name: 'BodyNotReadError', isOfShare: true });
    await expect(ask('paying')).resolves.toMatchObject({ value: { type: 'facts' } });
    await Promise.all(read);
    expect(refused.length).toBeLessThan(THREADS_MAX);
    await expect(ask('hostile')).resolves.toMatchObject({ value: { type: 'facts' } });
  });

  it('lets as many wait as an account may usually have under way at once', () => {
    const { concurrentRequests } = rateLimitsSchema.parse({}).paid;
    expect(WAITING_OF_ONE_MAX).toBeGreaterThan(concurrentRequests);
  });

  it('leaves out what nobody waits for any more, and what is closed', async () => {
    const pool = threads();
    const pieces = inPieces(body({ next: LONG }));
    const gone = pool.facts('message', { pieces, windowMax: 0 }, { ...wanted(), isWanted: () => false });
    await expect(gone).rejects.toThrow(BodyNotReadError);
    await pool.close();
    await expect(pool.facts('message', { pieces, windowMax: 0 }, wanted())).rejects.toThrow('shutting down');
  });

  it('tells whoever waits that it was closed meanwhile', async () => {
    const pool = threads();
    const asked = Array.from({ length: 6 }, () =>
      pool.facts('message', { pieces: inPieces(body({ next: LONG })), windowMax: 0 }, wanted()),
    );
    const outcomes = Promise.allSettled(asked);
    await pool.close();
    for (const outcome of await outcomes) expect(outcome.status).toBe('rejected');
  });
});

describe('the bytes of a request', () => {
  const isFree = (pieces: readonly Buffer[]): boolean => pieces.every(({ buffer }) => buffer.byteLength === 0);

  it('are free at once when nobody wants them, where threads alone have had them', async () => {
    const pieces = inPieces(body({ next: LONG }));
    const bytes = new RequestBytes(pieces);
    await bytes.lend(async (lent) => ({ pieces: lent, value: null }));
    expect(isFree(pieces)).toBe(false);
    bytes.free();
    expect(isFree(pieces)).toBe(true);
    expect(() => bytes.pieces).toThrow();
  });

  it('are free when they come back, where nobody wants them meanwhile', async () => {
    const pieces = inPieces(body({ next: LONG }));
    const bytes = new RequestBytes(pieces);
    const { promise, resolve } = Promise.withResolvers<{ pieces: readonly Buffer[]; value: null }>();
    const lent = bytes.lend(() => promise);
    bytes.free();
    expect(isFree(pieces)).toBe(false);
    resolve({ pieces, value: null });
    await lent;
    expect(isFree(pieces)).toBe(true);
  });

  it.each([
    ['themselves', (bytes: RequestBytes) => bytes.pieces],
    ['with a change', (bytes: RequestBytes) => bytes.changed([{ from: 2, to: 7, text: 'MODEL' }])],
  ])('are left alone once they may be on their way upstream, %s', (_title, use) => {
    const whole = body({ next: LONG });
    const pieces = inPieces(whole);
    const bytes = new RequestBytes(pieces);
    use(bytes);
    bytes.free();
    expect(Buffer.concat(pieces).equals(whole)).toBe(true);
  });

  it('are put together nowhere once they are many, and change at the same places', () => {
    const whole = body({ next: LONG });
    const bytes = new RequestBytes(inPieces(whole, 999));
    const at = whole.indexOf('"hello"');
    const changes = [
      { from: 2, to: 7, text: 'MODEL' },
      { from: at, to: at + 7, text: '"漢"' },
      { from: whole.length - 1, to: whole.length - 1, text: ',"added":1' },
    ];
    const expected = new RequestBytes([whole.subarray(0, READ_AT_ONCE_BYTES_MAX)]).changed(changes.slice(0, 2)).whole;
    const changed = bytes.changed(changes);
    const text = Buffer.concat(changed.pieces);
    expect(changed.length).toBe(text.length);
    expect(JSON.parse(text.toString())).toMatchObject({ MODEL: 'm', messages: [{ content: '漢' }], added: 1 });
    expect(text.subarray(0, 60_000).equals(expected.subarray(0, 60_000))).toBe(true);
    expect(changed.pieces.filter((piece) => bytes.pieces.some(({ buffer }) => buffer === piece.buffer)).length).toBe(
      changed.pieces.length - changes.length,
    );
    expect(bytes.changed([])).toBe(bytes);
  });
});
