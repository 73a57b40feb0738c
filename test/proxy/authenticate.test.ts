import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyId } from '../../contracts/ids.ts';
import { authenticate, UNKNOWN_KEY } from '../../proxy/authenticate.ts';
import { asking, call, get, post, refusalOf } from '../fixtures/gateway/call.ts';
import { type FurtherAccount, openAccount } from '../fixtures/gateway/open-account.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';

const NOW = Date.parse('2026-05-15T12:00:00.000Z');
const DAY_MS = 24 * 60 * 60 * 1_000;
let nowMs = NOW;
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ clock: () => nowMs, creditsMicroUsd: 7_000_000n });
});
afterAll(() => gateway.stop());

const me = (headers: Readonly<Record<string, string>>) => call(gateway.url, '/me', { headers });
const unknownKey = (): string => `${gateway.key.slice(0, -1)}${gateway.key.endsWith('a') ? 'b' : 'a'}`;

describe('a key', () => {
  it.each([
    ['x-api-key', (key: string) => ({ 'x-api-key': key })],
    ['Authorization: Bearer', (key: string) => ({ authorization: `Bearer ${key}` })],
    ['authorization: bearer', (key: string) => ({ authorization: `bearer ${key}` })],
    ['authorization: BEARER', (key: string) => ({ authorization: `BEARER ${key}` })],
    ['Bearer with more than one space', (key: string) => ({ authorization: `Bearer   ${key}` })],
    ['both headers', (key: string) => ({ 'x-api-key': key, authorization: `Bearer ${key}` })],
    ['x-api-key beside a wrong bearer', (key: string) => ({ 'x-api-key': key, authorization: 'Bearer sk-svc-wrong' })],
    ['a bearer beside an empty x-api-key', (key: string) => ({ 'x-api-key': '', authorization: `Bearer ${key}` })],
  ])('is taken from %s', async (_title, headers) => {
    expect((await me(headers(gateway.key))).status).toBe(200);
  });

  it('in x-api-key wins over the bearer, also when it is the wrong one', async () => {
    const answered = await me({ 'x-api-key': unknownKey(), authorization: `Bearer ${gateway.key}` });
    expect(refusalOf(answered, 401)).toBe('the service key is not known');
  });

  it.each([
    ['no header', {}],
    ['an empty x-api-key', { 'x-api-key': '' }],
    ['Basic', { authorization: 'Basic c2stc3ZjOng=' }],
    ['Bearer alone', { authorization: 'Bearer' }],
    ['Bearer and a space', { authorization: 'Bearer ' }],
    ['two words after Bearer', { authorization: 'Bearer sk-svc-a sk-svc-b' }],
  ])('is missed: %s', async (_title, headers) => {
    expect(refusalOf(await me(headers), 401)).toContain('send the service key as x-api-key');
  });

  it('is missed where the word before it is not Bearer', async () => {
    refusalOf(await me({ authorization: gateway.key }), 401);
    refusalOf(await me({ authorization: `Bearer${gateway.key}` }), 401);
    refusalOf(await me({ authorization: `Token ${gateway.key}` }), 401);
  });

  it.each([
    ['one letter differs', () => unknownKey()],
    ['one letter is missing', () => gateway.key.slice(0, -1)],
    ['one letter is too many', () => `${gateway.key}a`],
    ['the prefix is not ours', () => gateway.key.replace('sk-svc-', 'sk-ant-')],
    ['the prefix is missing', () => gateway.key.replace('sk-svc-', '')],
    ['its letters have the other case', () => gateway.key.toUpperCase()],
    ['it is the hash that the ledger has', () => createHash('sha256').update(gateway.key).digest('hex')],
    ['it is that hash with the prefix', () => `sk-svc-${createHash('sha256').update(gateway.key).digest('hex')}`],
  ])('is unknown: %s', async (_title, key) => {
    const answered = await me({ 'x-api-key': key() });
    expect(refusalOf(answered, 401)).toBe('the service key is not known');
    expect(answered.text).not.toContain(key());
  });

  it('is refused from its revocation on', async () => {
    const issued = await gateway.issueKey();
    expect((await me({ 'x-api-key': issued.key })).status).toBe(200);
    await gateway.command({ type: 'RevokeKey', keyId: keyId(issued.keyId), nowMs });
    expect(refusalOf(await me({ 'x-api-key': issued.key }), 401)).toBe('the service key is revoked');
    expect((await me({ 'x-api-key': gateway.key })).status).toBe(200);
  });

  it('is refused from the millisecond of its expiry on, by the clock alone', async () => {
    const { key } = await gateway.issueKey({ expiresAtMs: NOW + DAY_MS });
    const before = await gateway.log.headPosition();
    nowMs = NOW + DAY_MS - 1;
    expect((await me({ 'x-api-key': key })).body).toMatchObject({ key: { expires_at: '2026-05-16T12:00:00.000Z' } });
    nowMs = NOW + DAY_MS;
    expect(refusalOf(await me({ 'x-api-key': key }), 401)).toBe('the service key has expired');
    expect(await gateway.log.headPosition()).toBe(before);
    nowMs = NOW;
    expect((await me({ 'x-api-key': key })).status).toBe(200);
  });
});

describe('endpoints', () => {
  it.each(['/pricing', '/catalog', '/status', '/healthz', '/readyz'])('need no key: %s', async (path) => {
    expect((await call(gateway.url, path)).status).toBe(200);
    expect((await get({ url: gateway.url, key: 'sk-svc-wrong' }, path)).status).toBe(200);
  });

  it.each([
    ['GET', '/me'],
    ['GET', '/v1/models'],
    ['GET', '/v1/models/svc-mock'],
    ['GET', '/v1/models/no-such-model'],
    ['POST', '/v1/messages'],
    ['POST', '/v1/messages/count_tokens'],
  ] as const)('need a key, before anything else of the request is looked at: %s %s', async (method, path) => {
    const body = method === 'POST' ? { body: '{"model":' } : {};
    refusalOf(await call(gateway.url, path, { method, ...body }), 401);
    refusalOf(await call(gateway.url, path, { method, ...body, headers: { 'x-api-key': 'sk-svc-wrong' } }), 401);
  });
});

describe('two accounts', () => {
  let other: FurtherAccount;
  beforeAll(async () => {
    other = await openAccount(gateway, { nowMs: NOW, credits: 3_000_000n, kind: 'organization' });
  });

  const meOf = async (key: string) => (await me({ 'x-api-key': key })).body;

  it('see each its own e-mail, balance and key', async () => {
    expect(await meOf(gateway.key)).toMatchObject({
      email: 'test@example.com',
      available_credits: 7_000_000,
      account: { id: 'acct_test', kind: 'personal' },
      key: { last4: gateway.key.slice(-4) },
    });
    expect(await meOf(other.key)).toMatchObject({
      email: `${other.accountId}@example.com`,
      available_credits: 3_000_000,
      account: { id: other.accountId, kind: 'organization' },
      key: { last4: other.key.slice(-4) },
    });
  });

  it("spend each its own credits, and each request stands in its own account's stream", async () => {
    const before = await meOf(gateway.key);
    const answered = await post(other, '/v1/messages', asking('opal-medium'));
    expect(answered.status).toBe(200);
    const debits = (await gateway.events(other.accountId)).flatMap((event) =>
      event.type === 'CreditsDebited' ? [event.data] : [],
    );
    expect(debits).toHaveLength(1);
    expect(debits[0]).toMatchObject({ requestId: answered.headers['request-id'], keyId: other.keyId });
    expect(debits[0]?.amount).toBeGreaterThan(0n);
    expect(await meOf(other.key)).toMatchObject({ available_credits: 3_000_000 - Number(debits[0]?.amount) });
    expect(await meOf(gateway.key)).toEqual(before);
    expect((await gateway.events()).filter(({ type }) => type === 'UsageRecorded')).toEqual([]);
  });
});

/** Where the log is away a key that is not known may be newer than the views: then it is told so. */
it('what cannot be a key of ours is told as one that is not known, and is known to be no newer key', () => {
  const { accounts } = gateway.gateway.process.projections;
  const found = (key: string) => authenticate({ 'x-api-key': key }, accounts, 'gateway', nowMs);
  expect(found(unknownKey())).toBe(UNKNOWN_KEY);
  expect(found('sk-other-1')).toEqual(UNKNOWN_KEY);
  expect(found('sk-other-1')).not.toBe(UNKNOWN_KEY);
  expect(found('sk-svc-1')).toEqual(UNKNOWN_KEY);
  expect(found('sk-svc-1')).not.toBe(UNKNOWN_KEY);
});
