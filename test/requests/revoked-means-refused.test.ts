import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type EventLog, EventLogError, HiddenStreamError } from '../../contracts/event-log.ts';
import { accountStream, keyId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { asking, get, messageOf, post, refusalOf } from '../fixtures/gateway/call.ts';
import { type FurtherAccount, openAccount } from '../fixtures/gateway/open-account.ts';
import { lastBodyOf, openSocket, statusesOf } from '../fixtures/gateway/raw-socket.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { countTokens, failure, wait } from '../upstream/answer.ts';
import { defaultAnswer } from '../upstream/default-answer.ts';
import type { Script } from '../upstream/upstream.ts';

/**
 * A caller who may call when a request's head comes, and may not any more when the request would go on: after its body,
 * after the count of its input, after the wait for its lease, after a deployment that did not answer.
 */
let nowMs = Date.parse('2026-11-22T12:00:00.000Z');
const { upstream, gateway } = await startOnUpstream(afterAll, { clock: () => nowMs });
beforeEach(() => upstream.answerWith(defaultAnswer));

const COUNT = '/v1/messages/count_tokens';
const revoke = (caller: FurtherAccount): AccountCommand => ({ type: 'RevokeKey', keyId: keyId(caller.keyId), nowMs });
const suspend = (): AccountCommand => ({ type: 'SuspendAccount', reason: 'fraud' });
const limitAccount = (): AccountCommand => ({ type: 'SetSpendLimit', keyId: null, limit: microUsd(1n), nowMs });
const limitKey = (caller: FurtherAccount): AccountCommand => ({
  type: 'SetSpendLimit',
  keyId: keyId(caller.keyId),
  limit: microUsd(1n),
  nowMs,
});

const CHANGES = [
  ['its key is revoked', 401, 'the service key is revoked', revoke],
  ['its account is suspended', 403, 'the account is suspended', suspend],
  ["the account's limit is lowered", 402, "the account's monthly limit", limitAccount],
  ["the key's limit is lowered", 402, "the key's monthly limit", limitKey],
] as const;

describe('a request whose body is still on its way', () => {
  it.each(CHANGES)('is refused where meanwhile %s', async (_title, status, message, change) => {
    const caller = await openAccount(gateway, { credits: 1_000_000_000n, nowMs });
    const request = await startSlowly(caller, '/v1/messages', asking('opal-medium'));
    await gateway.command(change(caller), caller.accountId);
    const answers = await request.finish();
    expect(statusesOf(answers)).toEqual(['100', String(status)]);
    expect(messageOf(lastBodyOf(answers), status)).toContain(message);
    expect((await gateway.events(caller.accountId)).map(({ type }) => type)).not.toContain('UsageRecorded');
  });

  it('is refused where meanwhile its key has ended, whatever its body says', async () => {
    for (const path of ['/v1/messages', COUNT]) {
      const { accountId } = await openAccount(gateway, { credits: 1_000_000_000n, nowMs });
      const key = await gateway.issueKey({ expiresAtMs: nowMs + 1_000, nowMs }, accountId);
      const request = await startSlowly({ ...gateway, ...key }, path, { max_tokens: 'none' });
      nowMs += 1_000;
      const answers = await request.finish();
      expect(messageOf(lastBodyOf(answers), 401)).toBe('the service key has expired');
    }
  });

  it('to be counted is refused likewise, and no upstream sees it', async () => {
    const sent = upstream.requests.length;
    for (const [_title, status, message, change] of CHANGES.slice(0, 2)) {
      const caller = await openAccount(gateway, { nowMs });
      const request = await startSlowly(caller, COUNT, { model: 'opal-medium', messages: [] });
      await gateway.command(change(caller), caller.accountId);
      expect(messageOf(lastBodyOf(await request.finish()), status)).toBe(message);
    }
    expect(upstream.requests.length).toBe(sent);
  });
});

describe("a request whose input is being counted at its model's upstream", () => {
  /** By its size it does not fit, by its count it does. */
  const body = asking('opal-medium', { max_tokens: 100, messages: [{ role: 'user', content: 'word '.repeat(800) }] });
  const CREDITS = 8_000n;

  it.each(CHANGES)('is refused where meanwhile %s', async (_title, status, message, change) => {
    const caller = await openAccount(gateway, { credits: CREDITS, nowMs });
    const sent = upstream.requests.length;
    const counted = Promise.withResolvers<void>();
    upstream.answerWith(countingWith(counted.promise));
    const answered = post(caller, '/v1/messages', body);
    await upstream.seen(sent);
    await gateway.command(change(caller), caller.accountId);
    counted.resolve();
    expect(refusalOf(await answered, status)).toContain(message);
    expect(upstream.requests.slice(sent).map(({ path }) => path)).toEqual([COUNT]);
    if (status === 402) expect((await get(caller, '/me')).body).toMatchObject({ held_credits: 0 });
  });

  it.each(CHANGES.slice(0, 2))('in vain is refused where meanwhile %s', async (_title, status, message, change) => {
    const caller = await openAccount(gateway, { credits: CREDITS, nowMs });
    const sent = upstream.requests.length;
    const failing = Promise.withResolvers<void>();
    upstream.answerWith([wait(failing.promise), ...failure(500)]);
    const answered = post(caller, '/v1/messages', body);
    await upstream.seen(sent);
    await gateway.command(change(caller), caller.accountId);
    failing.resolve();
    expect(refusalOf(await answered, status)).toBe(message);
  });

  it('passes where nothing has changed', async () => {
    const caller = await openAccount(gateway, { credits: CREDITS, nowMs });
    upstream.answerWith(countingWith(Promise.resolve()));
    expect((await post(caller, '/v1/messages', body)).status).toBe(200);
  });

  it('by a request for the count alone is refused likewise, and the count is not told', async () => {
    for (const [_title, status, message, change] of CHANGES.slice(0, 2)) {
      const caller = await openAccount(gateway, { nowMs });
      const sent = upstream.requests.length;
      const counted = Promise.withResolvers<void>();
      upstream.answerWith(countingWith(counted.promise));
      const answered = post(caller, COUNT, { model: 'opal-medium', messages: [] });
      await upstream.seen(sent);
      await gateway.command(change(caller), caller.accountId);
      counted.resolve();
      expect(refusalOf(await answered, status)).toBe(message);
    }
  });
});

describe('a request whose first deployment holds its answer and then fails', () => {
  const fails = failure(529);

  it.each(CHANGES.slice(0, 2))('goes to no further one where meanwhile %s', async (_title, code, message, change) => {
    const caller = await openAccount(gateway, { credits: 1_000_000_000n, nowMs });
    const sent = upstream.requests.length;
    const failing = Promise.withResolvers<void>();
    upstream.answerWith(() => [wait(failing.promise), ...fails]);
    const answered = post(caller, '/v1/messages', asking('opal-twice'));
    await upstream.seen(sent);
    await gateway.command(change(caller), caller.accountId);
    failing.resolve();
    expect(refusalOf(await answered, code)).toBe(message);
    expect(upstream.requests.slice(sent).map(({ body }) => JSON.parse(body.toString('utf8')).model)).toEqual([
      'first-place',
    ]);
    const usages = (await gateway.events(caller.accountId)).filter(({ type }) => type === 'UsageRecorded');
    expect(usages).toMatchObject([{ data: { outcome: 'upstream_refused', billable: false } }]);
    expect((await gateway.events(caller.accountId)).map(({ type }) => type)).not.toContain('CreditsDebited');
  });

  it('goes to the next where nothing has changed', async () => {
    const caller = await openAccount(gateway, { credits: 1_000_000_000n, nowMs });
    const sent = upstream.requests.length;
    upstream.answerWith((request) => (upstream.requests.length === sent + 1 ? fails : defaultAnswer(request)));
    expect((await post(caller, '/v1/messages', asking('opal-twice'))).status).toBe(200);
    expect(upstream.requests.length).toBe(sent + 2);
  });
});

describe('a request whose account is set aside while it waits', () => {
  const WHY = 'its stream was deleted';
  const told = `the account is set aside: ${WHY}`;

  it('for its body is refused', async () => {
    for (const path of ['/v1/messages', COUNT]) {
      const caller = await openAccount(gateway, { credits: 1_000_000_000n, nowMs });
      const request = await startSlowly(caller, path, asking('opal-medium'));
      gateway.gateway.process.projections.accounts.setAside.put(
        caller.accountId,
        new HiddenStreamError(accountStream(caller.accountId), WHY),
      );
      expect(messageOf(lastBodyOf(await request.finish()), 529)).toBe(told);
    }
  });

  it('for a deployment that then fails goes to no further one', async () => {
    const caller = await openAccount(gateway, { credits: 1_000_000_000n, nowMs });
    const sent = upstream.requests.length;
    const failing = Promise.withResolvers<void>();
    upstream.answerWith(() => [wait(failing.promise), ...failure(529)]);
    const answered = post(caller, '/v1/messages', asking('opal-twice'));
    await upstream.seen(sent);
    gateway.gateway.process.projections.accounts.setAside.put(
      caller.accountId,
      new HiddenStreamError(accountStream(caller.accountId), WHY),
    );
    failing.resolve();
    expect(refusalOf(await answered, 529)).toBe(told);
    expect(upstream.requests.length).toBe(sent + 1);
  });
});

it.each([
  ...CHANGES.map((change) => ['it comes', ...change] as const),
  ...CHANGES.slice(0, 2).map((change) => ['it cannot be had', ...change] as const),
])(
  'a request that waits for its lease until %s is refused where meanwhile %s',
  async (how, _title, status, message, change) => {
    const sqlite = await openSqliteEventLog({ path: join(temporaryFolder(), 'ledger.db') });
    const leasing = Promise.withResolvers<void>();
    const mayLease = Promise.withResolvers<void>();
    const log = leasingWhen(sqlite, mayLease.promise, leasing.resolve);
    const options = { upstreamUrl: upstream.url, clock: () => nowMs, settings: { proxies: 'many' }, log };
    const fleet = await startTestGateway(options);
    const caller = await openAccount(fleet, { credits: 1_000_000_000n, nowMs });
    const sent = upstream.requests.length;
    const answered = post(caller, '/v1/messages', asking('opal-medium'));
    await leasing.promise;
    await fleet.command(change(caller), caller.accountId);
    if (how === 'it comes') mayLease.resolve();
    else mayLease.reject(new EventLogError('unavailable', 'the log is away'));
    expect(refusalOf(await answered, status)).toContain(message);
    expect(upstream.requests.length).toBe(sent);
    await fleet.stop();
    await sqlite.close();
  },
);

/** Sends the head and half of the body; it has been seen by the gateway when this resolves. */
async function startSlowly({ url, key }: { url: string; key: string }, path: string, body: unknown) {
  const text = JSON.stringify(body);
  const socket = await openSocket(url);
  let answers = '';
  const continued = Promise.withResolvers<void>();
  socket.on('data', (piece) => {
    answers += piece.toString('utf8');
    if (answers.includes('100 Continue')) continued.resolve();
  });
  const head = [`POST ${path} HTTP/1.1`, 'host: gateway', `x-api-key: ${key}`, `content-length: ${text.length}`];
  socket.write(`${head.join('\r\n')}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n`);
  // The server says so in the turn in which it hands the head on.
  await continued.promise;
  socket.write(text.slice(0, text.length / 2));
  return {
    finish: async (): Promise<string> => {
      socket.write(text.slice(text.length / 2));
      await once(socket, 'close');
      return answers;
    },
  };
}

const countingWith =
  (until: Promise<void>): Script =>
  async (request) => {
    if (request.path !== COUNT) return defaultAnswer(request);
    await until;
    return countTokens(900);
  };

/** A log that takes leases only from a moment on, and tells when the first is tried. */
function leasingWhen(log: EventLog, gate: Promise<void>, onTried: () => void): EventLog {
  return {
    append: async (stream, expected, events) => {
      if (events.some(({ type }) => type === 'CreditsLeased')) {
        onTried();
        await gate;
      }
      return log.append(stream, expected, events);
    },
    readStream: (...args) => log.readStream(...args),
    readAll: (...args) => log.readAll(...args),
    subscribeAll: (options) => log.subscribeAll(options),
    headPosition: () => log.headPosition(),
    close: () => log.close(),
  };
}
