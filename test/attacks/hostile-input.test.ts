import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Answered, asking, call, get, messageOf, post, refusalOf } from '../fixtures/gateway/call.ts';
import { lastBodyOf, sendRaw, statusesOf } from '../fixtures/gateway/raw-socket.ts';
import { hostileScene } from './hostile-scene.ts';

/** Input that no client would send on purpose. After each: nothing is held or recorded, and the gateway serves on. */
const { upstream, gateway, test } = await hostileScene();

const GOOD = JSON.stringify(asking('opal-medium'));
const refused = async (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  refusalOf(await post(gateway, '/v1/messages', body, headers), 400);

describe('a body that is not JSON', () => {
  it.each([
    ['cut in the middle', GOOD.slice(0, -9)],
    ['one brace', '{'],
    ['a trailing comma', `${GOOD.slice(0, -1)},}`],
    ['two documents', `${GOOD}${GOOD}`],
    ['NaN', GOOD.replace('100', 'NaN')],
    ['single quotes', GOOD.replaceAll('"', "'")],
    ['a byte order mark', `\uFEFF${GOOD}`],
    ['a raw control character in a string', GOOD.replace('hello', 'hel\u0000lo')],
    ['a raw line end in a string', GOOD.replace('hello', 'hel\nlo')],
    ['white space', ' \r\n\t'],
    ['a form', 'model=opal-medium&max_tokens=1'],
    ['a closing bracket only', ']'.repeat(1000)],
    ['an open string of a megabyte', `{"model":"${'x'.repeat(1 << 20)}`],
    ['a megabyte of backslashes in an open string', `{"model":"${'\\'.repeat((1 << 20) + 1)}"`],
  ])('is refused: %s', async (_title, body) => {
    expect(await refused(body)).toBe('the body is not JSON');
  });

  it('is refused: nothing', async () => {
    expect(await refused('')).toBe('the body is empty; expected a JSON object');
  });

  it('is refused: nothing, without a length or type', async () => {
    const answered = await call(gateway.url, '/v1/messages', { method: 'POST', headers: { 'x-api-key': gateway.key } });
    expect(refusalOf(answered, 400)).toBe('the body is empty; expected a JSON object');
  });

  it.each(['[]', `[${GOOD}]`, 'null', '1', 'true', '"hello"', JSON.stringify(GOOD)])(
    'is refused: %s on top',
    async (body) => {
      expect(await refused(body)).toBe('expected an object');
    },
  );
});

describe('an encoding that is not UTF-8 as it is', () => {
  it.each([
    ['a byte that no UTF-8 has', Buffer.from(GOOD.replace('hello', 'hel\xfflo'), 'latin1')],
    ['an overlong slash', Buffer.from(GOOD.replace('hello', '\xc0\xaf'), 'latin1')],
    ['a surrogate in UTF-8', Buffer.from(GOOD.replace('hello', '\xed\xa0\x80'), 'latin1')],
    ['a character cut in the middle', Buffer.from(GOOD.replace('hello', '\xe2\x82'), 'latin1')],
    ['UTF-16 with its mark', Buffer.from(`\uFEFF${GOOD}`, 'utf16le')],
    ['compressed bytes without a word about it', gzipSync(GOOD)],
  ])('is refused: %s', async (_title, body) => {
    expect(await refused(body)).toBe('the body is not UTF-8');
  });

  it('is refused: UTF-16 without its mark', async () => {
    expect(await refused(Buffer.from(GOOD, 'utf16le'))).toBe('the body is not JSON');
  });

  it.each(['gzip', 'br', 'deflate', 'GZIP', 'identity, gzip'])('is refused: content-encoding %s', async (encoding) => {
    const message = await refused(gzipSync(GOOD), { 'content-encoding': encoding });
    expect(message).toBe(`content-encoding: "${encoding}" is not supported; send the body as it is`);
  });

  it.each(['gzip, chunked', 'identity, chunked'])('is refused: transfer-encoding %s', async (encoding) => {
    const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ${gateway.key}\r\n`;
    const chunk = `${Buffer.byteLength(GOOD).toString(16)}\r\n${GOOD}\r\n0\r\n\r\n`;
    const answer = await sendRaw(gateway.url, `${head}transfer-encoding: ${encoding}\r\n\r\n${chunk}`);
    expect(messageOf(lastBodyOf(answer), 400)).toBe(
      `transfer-encoding: "${encoding}" is not supported; send the body as it is, or in chunks`,
    );
  });

  it('is taken in chunks, however that is spelled', async () => {
    const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ${gateway.key}\r\n`;
    const chunk = `${Buffer.byteLength(GOOD).toString(16)}\r\n${GOOD}\r\n0\r\n\r\n`;
    expect(statusesOf(await sendRaw(gateway.url, `${head}Transfer-Encoding: Chunked\r\n\r\n${chunk}`))).toEqual([
      '200',
    ]);
    test.served++;
  });

  it('is refused: gzip that would unpack to a gigabyte, without unpacking it', async () => {
    const message = await refused(gzipSync(Buffer.alloc(30 * 1024 * 1024, 'x')), { 'content-encoding': 'gzip' });
    // Of its content there is not a word: who had unpacked it would have said that it is not JSON.
    expect(message).toBe('content-encoding: "gzip" is not supported; send the body as it is');
  });

  it.each(['application/json; charset=utf-16', 'text/plain', 'application/x-www-form-urlencoded', 'a/b; ;;='])(
    'counts for what its bytes are, whatever content-type says: %s',
    async (type) => {
      expect((await post(gateway, '/v1/messages', GOOD, { 'content-type': type })).status).toBe(200);
      test.served++;
    },
  );

  it('counts for what its bytes are, without a content-type', async () => {
    const headers = { 'x-api-key': gateway.key };
    expect((await call(gateway.url, '/v1/messages', { method: 'POST', headers, body: GOOD })).status).toBe(200);
    test.served++;
  });

  // Fastify would refuse the header itself before any parser is asked.
  it('counts for what its bytes are, where content-type is no media type', async () => {
    const answered = await post(gateway, '/v1/messages', GOOD, { 'content-type': 'nonsense' });
    if (answered.status === 200) test.served++;
    expect(answered.status).toBe(200);
  });

  it.each([
    ['lone surrogates in escapes', GOOD.replace('hello', '\\ud800 \\udc00')],
    ['escaped NUL characters', GOOD.replace('hello', '\\u0000')],
    ['a key __proto__', GOOD.replace('{', '{"__proto__":{"stream":true,"max_tokens":1},')],
    ['a key constructor', GOOD.replace('{', '{"constructor":{"prototype":{"polluted":true}},')],
  ])('is served, for it is JSON: %s', async (_title, body) => {
    const seen = upstream.seen(upstream.requests.length);
    const answered = await post(gateway, '/v1/messages', body);
    test.served++;
    expect(answered.status).toBe(200);
    expect(answered.headers['content-type']).toBe('application/json');
    expect((await seen).body.toString()).toBe(body);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it.each([
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['a path', '../../etc/passwd'],
    ['a NUL', 'svc-mock\u0000'],
    ['100,000 letters', 'a'.repeat(100_000)],
  ])('is a model that does not exist: %s', async (_title, model) => {
    const answered = await post(gateway, '/v1/messages', asking(model));
    expect(answered.text.length).toBeLessThan(1_000);
    expect(answered).toMatchObject({ status: 404, body: { error: { type: 'not_found_error' } } });
  });

  it('does not take required fields from __proto__', async () => {
    const message = await refused(`{"__proto__":${GOOD}}`);
    expect(message).toContain('model: required');
    expect(message).toContain('max_tokens: required');
  });
});

describe('a key that stands twice', () => {
  const twice = (first: string, second: string) => `${GOOD.slice(0, -1)},${first},${second}}`;
  it.each([
    ['model', GOOD.replace('{', '{"model":"svc-mock",')],
    ['max_tokens', GOOD.replace('{', '{"max_tokens":1,')],
    ['messages', GOOD.replace('{', '{"messages":[],')],
    ['stream', twice('"stream":false', '"stream":true')],
    ['speed', twice('"speed":"standard"', '"speed":"fast"')],
    ['system', twice('"system":"a"', '"system":"b"')],
    ['tools', twice('"tools":[]', '"tools":null')],
    ['thread', twice('"thread":null', '"thread":null')],
    ['model', GOOD.replace('{', '{"mod\\u0065l":"svc-mock",')],
    ['model', GOOD.replace('{', '{"\\u006d\\u006F\\u0064\\u0065\\u006c":"svc-mock",')],
    ['max_tokens', GOOD.replace('{', '{"max\\u005ftok\\u0065ns":1,')],
    ['model', GOOD.replace('{', '{"model" \n:"svc-mock",').replace('"model":"opal', '"model"\t:\t"opal')],
  ])('is refused: %s in %s', async (key, body) => {
    expect(await refused(body)).toBe(`${key}: stands twice in the body; say it once`);
  });

  // Both decide what is held: a parser upstream that takes the first of two would see another request than the gateway.
  it.each([
    ['cache_control', '"cache_control":{"type":"ephemeral","ttl":"1h"}', '"cache_control":null'],
    ['container', '"container":"c"', '"container":null'],
  ])('is refused: %s, which decides what is held', async (key, first, second) => {
    const answered = await post(gateway, '/v1/messages', twice(first, second));
    if (answered.status === 200) test.served++;
    expect(refusalOf(answered, 400)).toBe(`${key}: stands twice in the body; say it once`);
  });

  it.each([
    ['next', twice('"next":1', '"Next":2'), 'next: stands twice in the body'],
    ['type', twice('"thinking":{"type":"disabled","type":"enabled"}', '"a":1'), 'thinking: "type" stands twice in one'],
    [
      'max_uses',
      twice('"tools":[{"type":"web_search_20250305","max_uses":9,"max_uses":1}]', '"a":1'),
      'tools: "max_uses" stands twice in one',
    ],
  ])('is refused where it stands: %s', async (_key, body, message) => {
    expect(await refused(body)).toContain(message);
  });

  it('is no matter in data, in objects apart, nor in text', async () => {
    const text = '"model" "model" \\"model\\": \\u0065';
    const body = JSON.stringify(asking('opal-medium', { system: text, metadata: { model: 1 }, top: { model: 1 } }));
    expect((await post(gateway, '/v1/messages', body)).status).toBe(200);
    test.served++;
  });
});

describe('nesting', () => {
  const nested = (depth: number, open = '[', close = ']') =>
    `${GOOD.slice(0, -1)},"metadata":{"x":${open.repeat(depth)}${close.repeat(depth)}}}`;

  it.each([
    ['arrays', nested(1_000_000)],
    ['objects', nested(1_000_000, '{"a":', '}').replace(':}', ':1}')],
    ['arrays that never close', '['.repeat(1_000_000)],
    ['arrays in 30 MiB', '['.repeat(30 * 1024 * 1024)],
    [
      'deep brackets after a string of brackets',
      GOOD.replace('hello', '['.repeat(99)).replace('{', `{"a":${'['.repeat(600)}`),
    ],
  ])('is refused without recursing over it: a million %s', async (_title, body) => {
    expect(await refused(body)).toBe('the body is nested deeper than 512 levels; send it flatter');
  });

  it('passes up to the bound, and not one level more', async () => {
    expect((await post(gateway, '/v1/messages', nested(510))).status).toBe(200);
    test.served++;
    await refused(nested(511));
  });

  it('does not count brackets in text', async () => {
    const text = `${'['.repeat(2_000)}\\"${'{'.repeat(2_000)}\\\\`;
    expect((await post(gateway, '/v1/messages', GOOD.replace('hello', text))).status).toBe(200);
    test.served++;
  });
});

describe('headers', () => {
  const withHeaders = (...headers: string[]): Promise<Answered> =>
    call(gateway.url, '/v1/messages', { method: 'POST', headers, body: GOOD });

  it('of a key sent twice are no key', async () => {
    const answered = await withHeaders('x-api-key', gateway.key, 'x-api-key', gateway.key);
    expect(refusalOf(answered, 401)).toBe('the service key is not known');
  });

  it('of authorization sent twice are no key, as which of them counts differs from one proxy to the next', async () => {
    const [good, bad] = [`Bearer ${gateway.key}`, 'Bearer sk-svc-unknown'];
    for (const [first, second] of [
      [good, bad],
      [bad, good],
      [good, good],
    ] as const)
      refusalOf(await withHeaders('authorization', first, 'authorization', second), 401);
  });

  it('of content-type sent twice do not matter', async () => {
    const types = ['content-type', 'application/json', 'content-type', 'text/plain'];
    expect((await withHeaders('x-api-key', gateway.key, ...types)).status).toBe(200);
    test.served++;
  });

  it('of x-svc-speed sent twice are refused', async () => {
    const speeds = ['x-svc-speed', 'fast', 'x-svc-speed', 'standard'];
    refusalOf(await withHeaders('x-api-key', gateway.key, ...speeds), 400);
  });

  it.each([
    ['nothing', ''],
    ['a space', ' '],
    ['a prefix alone', 'sk-svc-'],
    ['20,000 letters', `sk-svc-${'x'.repeat(20_000)}`],
    ['__proto__', 'sk-svc-__proto__'],
    ['an object', '[object Object]'],
  ])('with a key of %s are a 401', async (_title, key) => {
    refusalOf(await withHeaders('x-api-key', key), 401);
  });

  it('longer than 32 KiB are refused', async () => {
    const answered = await withHeaders('x-api-key', gateway.key, 'x-filler', 'x'.repeat(40_000));
    expect(answered).toMatchObject({ status: 400, body: { error: { type: 'invalid_request_error' } } });
    expect(answered.text).toContain('the headers are too long or too many');
  });
});

describe('paths and methods that are not there', () => {
  it.each([
    ['GET', '/v1/messages'],
    ['PUT', '/v1/messages'],
    ['PATCH', '/v1/messages'],
    ['DELETE', '/v1/messages'],
    ['POST', '/v1/models'],
    ['POST', '/me'],
    ['DELETE', '/v1/models/opal-medium'],
    ['GET', '/v1/messages/count_tokens'],
    ['POST', '/v1/messages/batches'],
    ['GET', '/'],
    ['GET', '/v1'],
    ['GET', '/V1/models'],
    ['GET', '/v1//models'],
    ['GET', '/..%2f..%2fetc%2fpasswd'],
    ['GET', '/favicon.ico'],
    ['GET', '/__proto__'],
  ] as const)('get the envelope: %s %s', async (method, path) => {
    const headers = { 'x-api-key': gateway.key };
    const answered = await call(gateway.url, path, { method, headers, ...(method === 'GET' ? {} : { body: GOOD }) });
    expect(refusalOf(answered, 404)).toBe(`there is no ${method} ${path}`);
  });

  it.each([
    ['PUT', '/v1/messages', 'POST, OPTIONS'],
    ['GET', '/v1/messages/count_tokens', 'POST, OPTIONS'],
    ['POST', '/v1/models', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/v1/models/opal-medium', 'GET, HEAD, OPTIONS'],
    ['POST', '/nowhere', undefined],
  ] as const)('say which methods there are: %s %s', async (method, path, allow) => {
    const headers = { 'x-api-key': gateway.key };
    expect((await call(gateway.url, path, { method, headers })).headers.allow).toBe(allow);
  });

  it('say what to do about a base URL that ends in /v1', async () => {
    const answered = await post(gateway, '/v1/v1/messages', GOOD);
    expect(refusalOf(answered, 404)).toBe(
      'there is no POST /v1/v1/messages; the base URL of this SDK is to end before /v1',
    );
  });

  it('get the envelope with the path cut to 200 letters and without its query', async () => {
    const long = `/${'x'.repeat(10_000)}`;
    expect(refusalOf(await get(gateway, `${long}?secret=1`), 404)).toBe(`there is no GET ${long.slice(0, 200)}`);
    expect(refusalOf(await get(gateway, '/nothing?secret=1'), 404)).toBe('there is no GET /nothing');
  });

  it('get the envelope for a model id longer than any', async () => {
    refusalOf(await get(gateway, `/v1/models/${'x'.repeat(10_000)}`), 404);
  });

  it('get a 404 without a body for HEAD', async () => {
    const answered = await call(gateway.url, '/nowhere', { method: 'HEAD', headers: { 'x-api-key': gateway.key } });
    expect(answered).toMatchObject({ status: 404, text: '' });
    expect(answered.headers['request-id']).toMatch(/^req_/);
  });

  it.each(['/v1/models/%', '/v1/models/%zz', '/%ff', '/v1/models/%C3%28'])(
    'are not there where they do not decode: %s',
    async (path) => {
      const answered = await get(gateway, path);
      expect(refusalOf(answered, 404)).toBe(`there is no GET ${path}`);
    },
  );
});

it('has served whoever paid beside all that, and holds nothing of it', () => gateway.expectServedBeside());
