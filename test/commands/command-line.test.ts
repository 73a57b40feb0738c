import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountId, commandId, uuidV7 } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { SYSTEM } from '../../contracts/permissions.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { runForJson, runProgram, serve, stop } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/**
 * The program as an operator uses it, beside a running gateway and without one: gateways and a few of each kind of
 * command as processes of their own, the others in this one.
 */
const EXAMPLE = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;

describe('without a running gateway', () => {
  const data = temporaryFolder();
  const run = (...args: string[]) => runHere(...args, '--data', data);
  const json = (...args: string[]) => runHereForJson(...args, '--data', data);
  const atShell = (...args: string[]) => runProgram(...args, '--data', data);

  it('opens an account, grants credits, issues a key, sets limits, and shows all of it', async () => {
    const opened = await runForJson('--data', data, ...'account open --email ada@example.com --id acct_ada'.split(' '));
    expect(opened).toMatchObject({ accountId: 'acct_ada', kind: 'personal', trialMicroUsd: '5000000' });
    await json('catalog', 'publish', EXAMPLE);
    expect(await json('credits', 'grant', 'acct_ada', '--usd', '1212.50')).toMatchObject({
      amountMicroUsd: '1212500000',
    });
    const { key, keyId } = await json(
      ...'key issue acct_ada --name laptop --monthly-limit-usd 3 --models svc-mock'.split(' '),
    );
    expect(key).toMatch(/^sk-svc-[\w-]{43}$/);
    expect(await json('limit', 'set', 'acct_ada', '--usd', '100')).toMatchObject({ setAsideBeforeMicroUsd: '0' });
    const limited = await run('limit', 'set', 'acct_ada', '--key', String(keyId), '--usd', '3');
    expect(limited.stdout).toMatch(/a monthly limit of 3\.000000 USD; nothing was set aside for requests before/);
    expect(await json('account', 'show', 'acct_ada')).toMatchObject({
      availableMicroUsd: '1217500000',
      grants: [{ source: 'trial' }, { source: 'promotion', costBasis: '0', remaining: '1212500000' }],
      spend: { accountLimit: '100000000', keyLimits: { [String(keyId)]: '3000000' } },
    });
    const keys = JSON.stringify(await json('key', 'list', 'acct_ada'));
    expect(keys).toContain(String(keyId));
    expect(keys).not.toContain('sha256');
    const shown = await run('account', 'show', 'acct_ada');
    expect(shown.stdout).toMatch(/available\s+1,217\.500000 USD/);
    expect(shown.stdout).toMatch(/balance\s+1,217\.500000 USD, and 0\.000000000000 USD carried to the next debit/);
    expect(shown.stdout).toContain('laptop');
    expect((await run('account', 'list')).stdout).toMatch(/acct_ada .* 1,217\.500000/);
    expect(await atShell('account', 'show', 'acct_ada')).toEqual({ ...shown, stderr: '' });
  });

  it.each([
    [
      '0',
      /^opened acct_t0 \(personal, t@example\.com\) without trial credits: until some are there, free models alone/,
    ],
    ['2', /^opened acct_t2 \(personal, t@example\.com\) with 2\.000000 USD of trial credits for 30 days\n/],
  ])('opens an account with %s USD of trial credits, and says what that is', async (usd, says) => {
    const id = `acct_t${usd}`;
    const opening = ['account', 'open', '--email', 't@example.com', '--id', id, '--trial-usd', usd];
    expect((await run(...opening)).stdout).toMatch(says);
    expect((await json('account', 'show', id)).grants).toHaveLength(usd === '0' ? 0 : 1);
  });

  it('gives back what a wrong clock has destroyed, by an event of its own, and no more than that', async () => {
    await json('account', 'open', '--email', 'eve@example.com', '--id', 'acct_eve', '--trial-usd', '5');
    const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
    const recording = {
      commandId: commandId(uuidV7(Date.now(), randomBytes(10))),
      actor: 'expiry sweeper',
      recordedAt: new Date().toISOString(),
    };
    const wrongMs = Date.now() + LIMITS.trialMs + LIMITS.expiryLateMs + 60_000;
    const expire = { type: 'ExpireCredits', lateMs: LIMITS.expiryLateMs, nowMs: wrongMs } as const;
    expect(await executeCommand(log, accountId('acct_eve'), expire, SYSTEM, recording)).toMatchObject({ type: 'done' });
    await log.close();
    expect(await json('account', 'show', 'acct_eve')).toMatchObject({
      availableMicroUsd: '0',
      grants: [{ remaining: '0', expired: '5000000' }],
    });
    const why = ['--reason', 'the clock was ahead'];
    const reinstate = (...more: string[]) => ['credits', 'reinstate', 'acct_eve', '--grant', 'grant_trial', ...more];
    const tooMuch = await run(...reinstate('--usd', '5.01', ...why));
    expect([tooMuch.exitCode, tooMuch.stderr]).toEqual([
      3,
      'gateway: acct_eve: --usd: of grant grant_trial only 5.000000 USD have expired, not 5.010000\n',
    ]);
    const tooEarly = await run(...reinstate('--expires', '2026-01-01', ...why));
    expect(tooEarly.stderr).toMatch(/^gateway: acct_eve: --expires: grant grant_trial has until \S+ already\n$/);
    const never = await run('credits', 'grant', 'acct_eve', '--usd', '1', '--expires', '2026-01-01');
    expect(never.stderr).toBe('gateway: acct_eve: --expires: must be after the grant begins\n');
    expect((await run(...reinstate('--usd', '5'))).exitCode).not.toBe(0);
    expect(await json(...reinstate(...why))).toMatchObject({ grantId: 'grant_trial', amountMicroUsd: '5000000' });
    expect(await json('account', 'show', 'acct_eve')).toMatchObject({ availableMicroUsd: '5000000' });
    expect((await run(...reinstate(...why))).exitCode).toBe(3);
  });

  it('says which version it is, and that alone', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(await atShell('--version')).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
    for (const line of [
      ['--version', '--json'],
      ['--json', '--version'],
    ])
      expect(await runHere(...line)).toEqual({ exitCode: 0, stdout: `{"version":"${version}"}\n`, stderr: '' });
  });

  it('prints the stream as it is stored, one event a line', async () => {
    const { stdout } = await run('--json', 'ledger', 'events', 'acct_ada');
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ type }) => type)).toEqual([
      'AccountOpened',
      'CreditsGranted',
      'CreditsGranted',
      'ApiKeyIssued',
      'SpendLimitSet',
    ]);
    expect(events.map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4]);
    const { stdout: part } = await run('ledger', 'events', 'acct_ada', '--from', '3', '--limit', '1');
    expect(part).toContain('ApiKeyIssued');
    expect(part).not.toContain('SpendLimitSet');
  });

  it('publishes a catalog, says what changes, and does not publish the same again', async () => {
    const file = join(data, 'catalog.yaml');
    writeFileSync(file, readFileSync(EXAMPLE, 'utf8').replace('opal-large', 'opal-larger'));
    expect((await run('catalog', 'publish', file)).stdout).toContain('published catalog version 2');
    expect((await run('catalog', 'publish', EXAMPLE)).stdout).toContain('published catalog version 3');
    expect((await run('catalog', 'publish', EXAMPLE)).stdout).toContain('nothing changes');
    expect((await run('catalog', 'show')).stdout).toMatch(/opal-medium .*3\.00/);
  });

  it('suspends and reinstates an account, and revokes a key', async () => {
    await json('account', 'suspend', 'acct_ada', '--reason', 'card disputed');
    expect(await json('account', 'show', 'acct_ada')).toMatchObject({ suspended: 'card disputed' });
    await json('account', 'reinstate', 'acct_ada', '--reason', 'dispute lost');
    const { keyId } = await json('key', 'issue', 'acct_ada');
    await json('key', 'revoke', 'acct_ada', String(keyId));
    expect((await run('key', 'list', 'acct_ada')).stdout).toMatch(/revoked \d{4}/);
  });

  it.each([
    ['2: an unknown command', ['frobnicate'], 2, /unknown command/],
    ['2: an amount that is none', ['credits', 'grant', 'acct_ada', '--usd', '1.2345678'], 2, /--usd.*six decimals/s],
    ['2: an e-mail that is none', ['account', 'open', '--email', 'a@b.c'], 2, /--email.*e-mail address/s],
    ['2: neither of two options', ['limit', 'set', 'acct_ada'], 2, /--usd <amount> and --none/],
    [
      '2: a configuration that is not there',
      ['account', 'show', 'acct_ada', '--config', '/no/such.yaml'],
      2,
      /does not exist/,
    ],
    ['2: a catalog with faults', ['catalog', 'publish', join(data, 'bad.yaml')], 2, /models\.0\.price: required/],
    [
      '3: an account that exists',
      ['account', 'open', '--email', 'a@example.com', '--id', 'acct_ada'],
      3,
      /is open since/,
    ],
    ['3: an account that does not', ['credits', 'grant', 'acct_none', '--usd', '1'], 3, /no such account/],
    [
      '4: a data folder that is not there',
      ['account', 'list', '--data', '/no/such/folder'],
      4,
      /there is no such ledger/,
    ],
  ])('ends with %s', async (_what, args, exitCode, said) => {
    writeFileSync(
      join(data, 'bad.yaml'),
      'models: [{ id: x, display_name: X, family: open, label: X, group: G, context_window: 10 }]',
    );
    const result = await runHere('--data', data, ...args);
    expect(result).toMatchObject({ exitCode, stdout: '' });
    expect(result.stderr).toMatch(said);
    expect(result.stderr).not.toMatch(/\n {4}at /);
  });

  it.each([
    [0, ['key', 'issue', '--help']],
    [2, ['frobnicate']],
    [3, ['credits', 'grant', 'acct_none', '--usd', '1']],
    [4, ['account', 'list', '--data', '/no/such/folder']],
  ])('says the same as a process, which ends with %i', async (exitCode, args) => {
    const ended = await runProgram('--data', data, ...args);
    expect(ended.exitCode).toBe(exitCode);
    expect(ended).toEqual(await runHere('--data', data, ...args));
  });

  it.each([
    [[]],
    [['account']],
    [['account', 'open']],
    [['credits', 'grant']],
    [['key', 'issue']],
    [['limit', 'set']],
    [['catalog', 'publish']],
    [['ledger', 'events']],
    [['ledger', 'replay']],
    [['ledger', 'report']],
    [['ledger', 'explain']],
    [['ledger', 'reconcile']],
    [['serve']],
  ])('has help, with examples on what can be run: %j', async (command) => {
    const { exitCode, stdout } = await runHere(...command, '--help');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Usage: gateway');
    if (command.length === 2 || command[0] === 'serve') expect(stdout).toContain('Example');
  });
});

describe('beside a running gateway', () => {
  const data = temporaryFolder();
  let running: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    running = await serve('--data', data);
  });
  afterAll(() => stop(running.child));
  const json = (...args: string[]) => runHereForJson(...args, '--data', data);
  const get = async (path: string, key = running.ready.key ?? '') =>
    (await fetch(running.ready.url + path, { headers: { 'x-api-key': key } })) as Response;
  const post = (key: string, model = 'opal-medium') =>
    fetch(`${running.ready.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key },
      body: JSON.stringify({ model, max_tokens: 64, messages: [{ role: 'user', content: 'hello' }] }),
    });

  it('the first run has opened a demo account, with a key that works and is shown this once', async () => {
    expect(running.ready.key).toMatch(/^sk-svc-/);
    expect((await post(running.ready.key ?? '')).status).toBe(200);
    await expect
      .poll(async () => ((await (await get('/me')).json()) as { available_credits: number }).available_credits)
      .toBeLessThan(5_000_000);
  });

  it('what is granted, limited and revoked is seen without a restart', async () => {
    const { key, keyId } = await json('key', 'issue', 'acct_demo');
    await expect.poll(async () => (await post(String(key))).status).toBe(200);
    await json('limit', 'set', 'acct_demo', '--key', String(keyId), '--usd', '0.000001');
    await expect.poll(async () => (await post(String(key))).status).toBe(402);
    await json('key', 'revoke', 'acct_demo', String(keyId));
    await expect.poll(async () => (await post(String(key))).status).toBe(401);
    await runForJson('credits', 'grant', 'acct_demo', '--usd', '1000', '--data', data);
    await expect
      .poll(async () => ((await (await get('/me')).json()) as { available_credits: number }).available_credits)
      .toBeGreaterThan(1_000_000_000);
  });

  it('a catalog that is published is taken up without a restart', async () => {
    const file = join(data, 'next.yaml');
    writeFileSync(
      file,
      'models: [{ id: only, display_name: Only, family: open, label: Only, group: G, context_window: 1000, price: { input: "1.00", output: "2.00" }, upstreams: [{ provider: mock, model: only }] }]',
    );
    await json('catalog', 'publish', file);
    await expect
      .poll(async () => ((await (await get('/catalog')).json()) as { models: unknown[] }).models.length)
      .toBe(1);
    expect(await (await get('/pricing')).json()).toMatchObject({
      version: 2,
      models: [{ id: 'only', usd: { input: '1.00', cache_write_1h: '2.00' } }],
    });
    expect((await post(running.ready.key ?? '', 'opal-medium')).status).toBe(404);
    expect((await post(running.ready.key ?? '', 'only')).status).toBe(200);
  });

  it('a second gateway on the same data is refused, and a taken port is told', async () => {
    const second = await runProgram('serve', '--data', data, '--port', '0');
    expect(second).toMatchObject({ exitCode: 4, stderr: expect.stringContaining(data) });
    const { port } = new URL(running.ready.url);
    const taken = await runProgram('serve', '--data', temporaryFolder(), '--port', port);
    expect(taken).toMatchObject({ exitCode: 4, stderr: expect.stringContaining(`${port} is taken`) });
  });

  it('one whose start fails ends, and says which step it was', async () => {
    const folder = temporaryFolder();
    const configPath = join(folder, 'gateway.json');
    writeFileSync(configPath, JSON.stringify({ data: folder, catalog: EXAMPLE, proxies: 'many', logLevel: 'silent' }));
    writeFileSync(join(folder, 'proxy-claims.json'), 'no claims');
    const failed = await runProgram('serve', '--config', configPath, '--port', '0');
    expect(failed).toMatchObject({ exitCode: 4, stdout: '' });
    expect(failed.stderr).toMatch(
      /^gateway: the name of this proxy cannot be claimed: .*holds no claims; delete it .*\n$/,
    );
  });

  it('SIGTERM ends it in order, and the next start says where its data is and shows no key', async () => {
    expect(await stop(running.child)).toBe(0);
    running = await serve('--data', data);
    expect(running.ready).toEqual({ url: expect.stringMatching(/^http:/), data });
  });
});
