import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyId } from '../../contracts/ids.ts';
import { asking, call, get, post } from '../fixtures/gateway/call.ts';
import { openSocket, requestText, sendRaw } from '../fixtures/gateway/raw-socket.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { end, failure, hangUp, head, json, raw, reset, write } from '../upstream/answer.ts';
import { defaultAnswer } from '../upstream/default-answer.ts';
import type { Script } from '../upstream/upstream.ts';

/** Words that are told to the gateway and must come to light nowhere but upstream. */
const PROMPT = 'prompt-text-a81f';
const ANSWER = 'answer-text-77c2';
const UPSTREAM_KEY = 'upstream-secret-key';
const UPSTREAM_DETAIL = 'upstream-detail-5d0e';
/** A key that is nobody's, yet somebody's elsewhere. */
const FOREIGN_KEY = 'sk-svc-foreign-key-0123456789abcdef';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const logLines: string[] = [];
const errorBodies: string[] = [];
/** Heads, and the bodies of errors, of what an upstream answered that says our key. */
const echoes: string[] = [];
let revoked = '';
const { upstream, gateway } = await startOnUpstream(afterAll, {
  ...{ logLines, accessLines: logLines },
  settings: { logLevel: 'trace' },
});
beforeAll(async () => {
  await doEverything();
  await gateway.gateway.process.settlement.idle();
});

const said = (more: object = {}) =>
  asking('opal-medium', { system: PROMPT, messages: [{ role: 'user', content: PROMPT }], ...more });

async function keep(answer: ReturnType<typeof call>): Promise<void> {
  const { status, text } = await answer;
  if (status >= 400) errorBodies.push(text);
}

async function doEverything(): Promise<void> {
  const issued = await gateway.issueKey();
  revoked = issued.key;
  await gateway.command({ type: 'RevokeKey', keyId: keyId(issued.keyId), nowMs: Date.now() });
  await callWell();
  await callBadly();
  await failUpstream();
  await echoKey();
  await breakConnections();
}

async function callWell(): Promise<void> {
  upstream.answerWith((request) => (request.path.endsWith('count_tokens') ? defaultAnswer(request) : answerOf(ANSWER)));
  for (const model of ['opal-medium', 'opal-renamed', 'svc-mock']) {
    await keep(post(gateway, '/v1/messages', said({ model })));
    await keep(post(gateway, '/v1/messages', said({ model, stream: true })));
    await keep(post(gateway, '/v1/messages/count_tokens', said({ model })));
  }
  for (const path of ['/me', '/v1/models', '/pricing', '/catalog', '/status', '/readyz'])
    await keep(get(gateway, path));
}

const answerOf = (text: string) =>
  json({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'opal-medium',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 5 },
  });

async function callBadly(): Promise<void> {
  for (const key of [revoked, FOREIGN_KEY, UPSTREAM_KEY]) await keep(post({ ...gateway, key }, '/v1/messages', said()));
  await keep(call(gateway.url, '/v1/messages', { body: said(), headers: { authorization: `Bearer ${FOREIGN_KEY}` } }));
  const bad = [
    `{"model":"${PROMPT}`,
    said({ model: [PROMPT] }),
    said({ temperature: PROMPT }),
    said({ messages: [{ role: PROMPT, content: { [PROMPT]: 1 } }] }),
    said({ speed: PROMPT }),
    said({ model: 'opal-gone' }),
    said({ model: 'opal-none' }),
    said({ thread: { type: PROMPT }, model: 'svc-mock' }),
    said({ max_tokens: 1e12 }),
    `${JSON.stringify(said()).slice(0, -1)},"model":"${PROMPT}"}`,
  ];
  for (const body of bad) await keep(post(gateway, '/v1/messages', body));
  await keep(post(gateway, `/v1/nothing?key=${gateway.key}`, said()));
  await keep(post(gateway, `/v1/messages/${'x'.repeat(3)}?prompt=${PROMPT}`, said()));
}

async function failUpstream(): Promise<void> {
  const detail = { error: { type: 'authentication_error', message: `${UPSTREAM_DETAIL}: ${UPSTREAM_KEY}, ${PROMPT}` } };
  const broken = (text: string) => [head(), write(`event: message_start\ndata: {"text":"${text}`)];
  const scripts: Script[] = [
    ...[401, 403, 408, 429, 500, 502, 503, 529].map((status) => failure(status, detail)),
    [reset],
    [hangUp],
    [...broken(ANSWER), reset],
    [...broken(ANSWER), hangUp],
    json(`{"usage": ${ANSWER}`),
    json({ usage: { input_tokens: ANSWER, output_tokens: -1 } }),
  ];
  for (const script of scripts)
    for (const more of [{}, { stream: true }, { model: 'opal-twice' }]) {
      upstream.answerWith(script);
      // An answer that broke off is cut, which undici throws; there is nothing of it to look at.
      for (const path of ['/v1/messages', '/v1/messages/count_tokens'])
        await keep(post(gateway, path, said(more))).catch((error: Error) => errorBodies.push(error.message));
    }
  upstream.answerWith(defaultAnswer);
}

/** The upstream says our own key to it in every place. */
async function echoKey(): Promise<void> {
  const said = 'x'.repeat(3);
  const echo = {
    type: 'error',
    error: { type: 'invalid_request_error', message: `key Bearer ${UPSTREAM_KEY} ${said}` },
  };
  const usage = {
    input_tokens: UPSTREAM_KEY,
    output_tokens: 5,
    service_tier: UPSTREAM_KEY,
    server_tool_use: { [UPSTREAM_KEY]: 2, [`${'x'.repeat(30)}${UPSTREAM_KEY}`]: 3 },
    iterations: [{ type: UPSTREAM_KEY }],
  };
  const answer = { type: 'message', id: `msg_${UPSTREAM_KEY}`, content: [], stop_reason: 'end_turn', usage };
  const events = [
    `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: answer })}\n\n`,
    `event: message_delta\ndata: ${JSON.stringify({ type: 'message_delta', delta: { stop_reason: 'x' }, usage })}\n\n`,
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  ];
  const type = { 'content-type': `application/json; k=${UPSTREAM_KEY}` };
  const cut = JSON.stringify(echo).indexOf(UPSTREAM_KEY) + 5;
  const scripts: Script[] = [
    ...[400, 404, 413, 422].map((status) => failure(status, echo, { ...type, 'request-id': UPSTREAM_KEY })),
    [head(400), write(JSON.stringify(echo).slice(0, cut)), write(JSON.stringify(echo).slice(cut)), end],
    json(answer, { headers: type }),
    json(answer, { headers: { 'request-id': UPSTREAM_KEY } }),
    json(answer, { headers: { 'content-encoding': UPSTREAM_KEY } }),
    failure(400, echo, { 'content-encoding': UPSTREAM_KEY }),
    [raw(`HTTP/1.1 200 OK\r\n${UPSTREAM_KEY}\r\n\r\n`), hangUp],
    [head(), ...events.map(write), end],
  ];
  for (const script of scripts) {
    upstream.answerWith(script);
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      const { status, text, headers } = await post(gateway, path, asking('opal-medium'));
      echoes.push(`${status} ${JSON.stringify(headers)} ${status === 200 ? '' : text}`);
    }
  }
  upstream.answerWith(defaultAnswer);
}

async function breakConnections(): Promise<void> {
  errorBodies.push(await sendRaw(gateway.url, `GARBAGE ${gateway.key} ${PROMPT}\r\n\r\n`));
  const filler = `x-filler: ${PROMPT.repeat(4_000)}`;
  errorBodies.push(await sendRaw(gateway.url, requestText(gateway.key, JSON.stringify(said()), [filler])));
  const socket = await openSocket(gateway.url);
  const seen = upstream.seen(upstream.requests.length);
  upstream.answerWith([head(), write(`event: ping\ndata: {"x":"${ANSWER}"}\n\n`), hangUp]);
  socket.write(requestText(gateway.key, JSON.stringify(said({ stream: true })), []));
  await seen;
  socket.resetAndDestroy();
  await once(socket, 'close');
}

const secrets = (): [name: string, text: string][] => [
  ["the caller's key", gateway.key],
  ["the caller's key without its prefix", gateway.key.slice('sk-svc-'.length)],
  ['a revoked key', revoked],
  ['a key that is unknown', FOREIGN_KEY],
  ["the upstream's key", UPSTREAM_KEY],
  ['what the caller said', PROMPT],
  ['what the model said', ANSWER],
];
const hashes = (): [name: string, text: string][] =>
  [gateway.key, revoked, FOREIGN_KEY, UPSTREAM_KEY].map((key) => [`the hash of ${key.slice(0, 10)}`, sha256(key)]);

function expectNone(where: readonly string[], what: [name: string, text: string][]): void {
  for (const [name, text] of what)
    expect({ name, found: where.filter((line) => line.includes(text)) }).toEqual({ name, found: [] });
}

describe('after every kind of request and failure', () => {
  it('there is something to look at', () => {
    expect(logLines.length).toBeGreaterThan(30);
    expect(logLines.filter((line) => JSON.parse(line).level >= 50).length).toBeGreaterThan(5);
    expect(errorBodies.length).toBeGreaterThan(50);
    expect(upstream.requests.filter(({ body }) => body.includes(PROMPT)).length).toBeGreaterThan(30);
    expect(upstream.requests.every(({ headers }) => headers['x-api-key'] === UPSTREAM_KEY)).toBe(true);
  });

  it('no line of the log has a secret, a hash of one, or what was said', () => {
    expectNone(logLines, [...secrets(), ...hashes(), ["the upstream's own words", UPSTREAM_DETAIL]]);
  });

  it("no error has a secret or a hash of one, nor the upstream's own words", () => {
    expectNone(errorBodies, [...secrets(), ...hashes(), ["the upstream's own words", UPSTREAM_DETAIL]]);
  });

  it('an upstream that says our key to it is passed on without it', () => {
    expect(echoes.filter((text) => text.startsWith('400') && text.includes('key [redacted] xxx'))).not.toHaveLength(0);
    expectNone(echoes, secrets());
    // As a name of a use it would come in small letters, without its dashes.
    const [spelled] = [UPSTREAM_KEY.replaceAll('-', '_')];
    expectNone(logLines, [['the key as a name', spelled]]);
  });

  it('nothing reaches the upstream that tells whose request it was', () => {
    const sent = upstream.requests.map(({ headers, body, path }) => JSON.stringify(headers) + path + body.toString());
    expectNone(sent, [
      ["the caller's key", gateway.key],
      ['its hash', sha256(gateway.key)],
      ['the account', 'acct_test'],
      ['the e-mail', 'test@example.com'],
    ]);
  });

  it("no event has a key or what was said; a key's hash stands where it is issued and nowhere else", async () => {
    const events: string[] = [];
    const issuing: string[] = [];
    for await (const { type, data, metadata } of gateway.log.readAll()) {
      (type === 'ApiKeyIssued' ? issuing : events).push(metadata + data);
    }
    expect(events.length).toBeGreaterThan(30);
    expectNone([...events, ...issuing], [...secrets(), ['the key as a name', UPSTREAM_KEY.replaceAll('-', '_')]]);
    expectNone(events, hashes());
    expect(issuing.filter((text) => text.includes(sha256(revoked)))).toHaveLength(1);
  });

  it('no file of the data folder has a key or what was said', () => {
    const files = filesOf(gateway.data).map((path) => readFileSync(path).toString('latin1'));
    expect(files.length).toBeGreaterThan(3);
    expectNone(files, secrets());
  });
});

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
