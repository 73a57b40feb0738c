import { readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountId, accountStream, commandOfRequest, keyId } from '../../contracts/ids.ts';
import { loadAccount } from '../../ledger/account/load-account.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { EXIT } from '../../proxy/program/command-error.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { usageOf } from '../fixtures/ledger/example-account.ts';
import { keyRotated } from '../fixtures/ledger/example-organization.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

const ORG = 'acct_org';
let program: ProgramInProcess;
beforeEach(async () => {
  program = endedLater(await programInProcess());
  await program.run('account', 'open', '--kind', 'organization', '--email', 'ada@example.com', '--id', ORG);
});

const refused = (message: RegExp) => ({ exitCode: EXIT.refused, message: expect.stringMatching(message) });

it('gateway member adds, changes, lists and removes members, and says which keys have ended with one', async () => {
  expect(await program.run('member', 'add', ORG, 'Ben@example.com')).toMatch(/^acct_org: Ben@example\.com is member\n/);
  expect(await program.run('member', 'add', ORG, 'ben@example.com')).toMatch(/nothing was written/);
  expect(await program.json('member', 'role', ORG, 'ben@example.com', 'admin')).toMatchObject({
    ...{ accountId: ORG, email: 'ben@example.com', role: 'admin', by: 'operator' },
    recordedAt: expect.stringMatching(/Z$/),
  });
  const { keyId: id } = await program.json('key', 'issue', ORG, '--member', 'BEN@example.com');
  expect(await program.json('member', 'list', ORG)).toEqual([
    expect.objectContaining({ email: 'ada@example.com', role: 'owner', keysInUse: 0 }),
    expect.objectContaining({ email: 'Ben@example.com', role: 'admin', keysInUse: 1 }),
  ]);
  expect(await program.run('account', 'show', ORG)).toMatch(/Ben@example\.com[^\n]*admin/);
  expect(await program.run('member', 'remove', ORG, 'ben@example.com')).toContain(
    `is no member any more; ended: ${id}\n`,
  );
  expect(await program.json('key', 'list', ORG)).toMatchObject([{ keyId: id, revokedAtMs: expect.any(Number) }]);
  expect(await program.run('ledger', 'verify', ORG)).toMatch(/no fault/);
  expect(await program.run('ledger', 'replay', ORG)).toMatch(/operator removed ben@example\.com/);
});

it('once the first owner has left the account is told as another’s, and so are keys for nobody else', async () => {
  await program.run('member', 'add', ORG, 'ben@example.com', '--role', 'owner');
  const { keyId: id } = await program.json('key', 'issue', ORG);
  const removed = await program.json('member', 'remove', ORG, 'ada@example.com');
  expect(removed).toEqual({
    ...{ accountId: ORG, email: 'ada@example.com', by: 'operator', endedKeys: [id] },
    recordedAt: expect.stringMatching(/Z$/),
  });
  await program.run('key', 'issue', ORG);
  const [, second] = (await program.json('key', 'list', ORG)) as never as object[];
  expect(second).toMatchObject({ member: 'ben@example.com' });
  const email = 'ben@example.com';
  const month = new Date(program.clock()).toISOString().slice(0, 7);
  expect(await program.json('account', 'show', ORG)).toMatchObject({ email });
  expect(await program.run('account', 'show', ORG)).toContain(`(organization, ${email})`);
  expect(await program.json('account', 'list')).toMatchObject([{ email }]);
  expect(await program.json('account', 'statement', ORG, '--month', month)).toMatchObject({ email });
  expect(await program.json('ledger', 'replay', ORG, '--at', '2040-01-01')).toMatchObject({ email });
  expect(await program.run('ledger', 'verify', ORG)).toMatch(/no fault/);
});

it('the last owner stays, and a personal account has nobody else', async () => {
  await expect(program.run('member', 'remove', ORG, 'ADA@example.com')).rejects.toMatchObject(refused(/last owner/));
  expect(await program.run('--as', 'ADA@Example.com', 'member', 'list', ORG)).toContain('ada@example.com');
  await program.run('account', 'open', '--email', 'eve@example.com', '--id', 'acct_eve');
  await expect(program.run('member', 'add', 'acct_eve', 'ben@example.com')).rejects.toMatchObject(
    refused(/^acct_eve: a personal account has one person/),
  );
});

it('gateway key rotate shows the new secret and how long the one before works', async () => {
  const { keyId: id, key } = await program.json('key', 'issue', ORG);
  program.clock = () => Date.parse('2027-01-01T00:00:00.000Z');
  const rotate = ['--trust-clock', 'key', 'rotate', ORG, String(id)];
  const rotated = await program.json(...rotate, '--overlap', '90m');
  expect(rotated).toMatchObject({ keyId: id, previousUntil: '2027-01-01T01:30:00.000Z', endedAtOnce: [] });
  expect(rotated.key).toMatch(/^sk-svc-/);
  expect(rotated.key).not.toBe(key);
  expect(await program.run('key', 'list', ORG)).toContain('in use; its secret before until 2027-01-01T01:30:00.000Z');
  const warned = program.warned;
  expect(await program.json(...rotate, '--key-only', '--again')).toMatch(/^sk-svc-/);
  const ended = String(key).slice(-4);
  expect(program.warned).toBe(`${warned}${id} of ${ORG}: an older secret (ending ${ended}) has ended at once\n`);
  await expect(program.run(...rotate, '--overlap', '31d')).rejects.toMatchObject(refused(/--overlap: at most 30 days/));
  for (const wrong of ['1', 'h', '-1h', '1w'])
    await expect(program.run(...rotate, `--overlap=${wrong}`)).rejects.toThrow(/expected how long, such as 90m/);
});

it('gateway key rotate promises no secret longer than its key', async () => {
  program.clock = () => Date.parse('2027-01-01T00:00:00.000Z');
  const ends = '2027-01-01T12:00:00.000Z';
  const { keyId: id } = await program.json('--trust-clock', 'key', 'issue', ORG, '--expires', ends);
  const rotate = ['--trust-clock', 'key', 'rotate', ORG, String(id)];
  expect(await program.json(...rotate, '--overlap', '90m')).toMatchObject({
    previousUntil: '2027-01-01T01:30:00.000Z',
  });
  expect(await program.json(...rotate, '--again')).toMatchObject({ previousUntil: ends });
  expect(await program.run(...rotate, '--again')).toContain(
    `; its secret before works until ${ends}, when the key itself ends; an older secret `,
  );
  await expect(program.run(...rotate)).rejects.toMatchObject(refused(/\) works until 2027-01-01T12:00:00\.000Z, and/));
  // As it was written before that was looked at.
  const previousUntil = '2027-01-02T00:00:00.000Z';
  const longer = { keyId: keyId(String(id)), previousUntil, rotatedAt: '2027-01-01T00:00:00.000Z' };
  const { revision } = await loadAccount(program.log, accountId(ORG));
  const events = encodeEvents([keyRotated(longer)], recordingBy('operator', program.clock()));
  await program.log.append(accountStream(accountId(ORG)), revision, events);
  const untilMs = Date.parse(ends);
  expect(await program.run('key', 'list', ORG)).toContain(`in use; its secret before until ${ends}`);
  expect(await program.json('key', 'list', ORG)).toMatchObject([{ previousUntilMs: untilMs }]);
  expect(await program.json('account', 'show', ORG)).toMatchObject({
    keys: { [String(id)]: { previous: { untilMs } } },
  });
  expect(await program.run('ledger', 'verify', ORG)).toMatch(/no fault/);
});

it('gateway key rotate ends no secret early unless that is said, and then says which', async () => {
  const { keyId: id, key: first } = await program.json('key', 'issue', ORG);
  program.clock = () => Date.parse('2027-01-01T00:00:00.000Z');
  const rotate = ['--trust-clock', 'key', 'rotate', ORG, String(id)];
  const [second, third] = [['--overlap', '7d'], ['--again']] as const;
  const [{ key: other }, ended] = [await program.json(...rotate, ...second), String(first).slice(-4)];
  await expect(program.run(...rotate)).rejects.toMatchObject(
    refused(
      new RegExp(
        `^${ORG}: key ${id}: the secret before \\(ending ${ended}\\) works until 2027-01-08T00:00:00\\.000Z, .*, or say --again \\(it ends now\\)$`,
      ),
    ),
  );
  const last4 = String(other).slice(-4);
  expect(await program.run(...rotate, ...third)).toContain(
    `${id} of ${ORG}; its secret before works until 2027-01-02T00:00:00.000Z; an older secret (ending ${ended}) has ended at once. This is`,
  );
  const { key: newest, endedAtOnce } = await program.json(...rotate, '--again');
  expect(endedAtOnce).toEqual([last4]);
  const [{ last4: before }] = (await program.json('key', 'list', ORG)) as never as [{ last4: string }];
  expect(before).toBe(String(newest).slice(-4));
  expect(await program.run(...rotate, '--overlap', '0')).toMatch(
    new RegExp(`\n${id} of ${ORG}; older secrets \\(ending .{4} and ${before}\\) have ended at once\\. This is`),
  );
  expect(await program.run(...rotate, '--overlap', '1h')).not.toContain('at once');
  expect(await program.run('ledger', 'verify', ORG)).toMatch(/no fault/);
});

it('where nobody has read the new secret of a member’s key, another key is said to be issued to the member', async () => {
  let said = '';
  Object.assign(program.context, { whenUnread: (_code: number, lost: string) => (said = lost) });
  await program.run('member', 'add', ORG, 'ben@example.com');
  const { keyId: id } = await program.json('key', 'issue', ORG, '--member', 'ben@example.com');
  await program.run('key', 'rotate', ORG, String(id));
  expect(said).toContain(
    `; another key: gateway key issue ${ORG} --member ben@example.com --config ${program.file}, or`,
  );
});

it('a key is expired from its end on, wherever keys are listed, and revoked once it is, whenever it would have ended', async () => {
  const at = (time: string) => {
    program.clock = () => Date.parse(time);
  };
  at('2027-01-01T00:00:00.000Z');
  const run = (...words: string[]) => program.run('--trust-clock', ...words);
  const end = '2027-01-31T00:00:00.000Z';
  await run('member', 'add', ORG, 'ben@example.com');
  const issue = ['key', 'issue', ORG, '--member', 'ben@example.com', '--expires', end];
  const { keyId: id } = await program.json('--trust-clock', ...issue);
  const states = async () => [
    ((await program.json('key', 'list', ORG)) as never as [{ state: string }])[0].state,
    ((await program.json('account', 'show', ORG)).keys as Record<string, { state: string }>)[String(id)]?.state,
    (
      (await program.json('ledger', 'replay', ORG, '--at', new Date(program.clock()).toISOString())).keys as object[]
    )[0],
  ];
  const inUse = async () =>
    ((await program.json('member', 'list', ORG)) as never as { keysInUse: number }[]).map(({ keysInUse }) => keysInUse);
  at('2027-01-30T23:59:59.999Z');
  expect(await states()).toMatchObject(['in use', 'in use', { state: 'in use', expiresAt: end, revokedAt: null }]);
  expect(await inUse()).toEqual([0, 1]);
  at(end);
  expect(await states()).toMatchObject(['expired', 'expired', { state: 'expired' }]);
  expect(await inUse()).toEqual([0, 0]);
  for (const list of [
    ['key', 'list', ORG],
    ['account', 'show', ORG],
  ])
    expect(await run(...list)).toContain(`expired ${end}`);
  expect(await run('ledger', 'replay', ORG, '--at', end)).toContain('expired 2027-01-31 00:00:00');
  at('2027-02-01T00:00:00.000Z');
  await run('key', 'revoke', ORG, String(id));
  expect(await states()).toMatchObject(['revoked', 'revoked', { state: 'revoked' }]);
  for (const list of [
    ['key', 'list', ORG],
    ['account', 'show', ORG],
  ])
    expect(await run(...list)).toContain('revoked 2027-02-01T00:00:00.000Z');
});

it('account list says which accounts are suspended, and which are set aside', async () => {
  const rows = async () => (await program.json('account', 'list')) as never as object[];
  expect(await rows()).toMatchObject([{ accountId: ORG, isSuspended: false, setAside: null }]);
  await program.run('account', 'suspend', ORG, '--reason', 'card disputed');
  expect(await program.run('account', 'list')).toMatch(/ {2}suspended {2}/);
  await program.run('projections', 'park', ORG, '--reason', 'looks wrong');
  expect(await program.run('account', 'list')).toContain('  suspended, set aside (parked)  ');
  expect(await rows()).toMatchObject([{ isSuspended: true, setAside: { cause: 'parked', why: 'looks wrong' } }]);
  await program.run('account', 'reinstate', ORG, '--reason', 'paid');
  expect(await rows()).toMatchObject([{ isSuspended: false }]);
});

it('when a key was last used is told from the account’s events, whatever the order of their ends', async () => {
  const { keyId: id } = await program.json('key', 'issue', ORG);
  expect(await program.run('key', 'list', ORG)).toMatch(/never[^\n]*never/);
  for (const [number, startedAt] of ['2026-11-06T12:00:00.000Z', '2026-11-06T11:59:00.000Z'].entries()) {
    const usage = usageOf(number + 1, 0, { keyId: keyId(String(id)), startedAt, billable: false });
    const recording = {
      commandId: commandOfRequest(usage.requestId),
      actor: usage.keyId,
      recordedAt: usage.finishedAt,
    };
    const { revision } = await loadAccount(program.log, accountId(ORG));
    const events = encodeEvents([{ type: 'UsageRecorded', data: usage }], recording);
    await program.log.append(accountStream(accountId(ORG)), revision, events);
  }
  const lastUsedAt = '2026-11-06T12:00:00.000Z';
  expect(await program.json('key', 'list', ORG)).toMatchObject([{ keyId: id, lastUsedAt }]);
  expect(await program.json('account', 'show', ORG)).toMatchObject({ keys: { [String(id)]: { lastUsedAt } } });
});

it('accounts of two products have an owner in common and nothing else', async () => {
  const open = ['account', 'open', '--email', 'ada@example.com', '--product', 'images', '--id', 'acct_images'];
  const told = program.warned;
  const warning =
    'warning: acct_images is of the product images, for good: gateways whose configuration has product gateway do not serve it\n';
  expect(await program.json(...open)).toMatchObject({ product: 'images' });
  expect(program.warned).toBe(told + warning);
  const { keyId: id } = await program.json('key', 'issue', 'acct_images');
  expect(program.warned).toBe(told + warning + warning);
  expect(await program.run('key', 'rotate', 'acct_images', String(id))).toMatch(/^sk-svc-/);
  expect(program.warned).toBe(told + warning + warning + warning);
  await program.run('credits', 'grant', 'acct_images', '--usd', '7');
  await program.run('credits', 'grant', 'acct_images', '--usd', '7', '--cost-usd', '6');
  await program.run('credits', 'grant', 'acct_images', '--usd', '7', '--source', 'purchase');
  expect((await program.json('account', 'show', 'acct_images')).grants).toMatchObject([
    { source: 'trial' },
    { source: 'promotion', costBasis: '0' },
    { source: 'purchase', costBasis: '6000000' },
    { source: 'purchase', costBasis: '7000000' },
  ]);
  const warned = program.warned;
  await program.run('account', 'open', '--email', 'ada@example.com', '--product', 'gateway', '--id', 'acct_own');
  const { keyId: own } = await program.json('key', 'issue', 'acct_own');
  await program.run('key', 'rotate', 'acct_own', String(own));
  const listed = async (...more: string[]) =>
    ((await program.json('account', 'list', ...more)) as unknown as { accountId: string }[]).map(
      (one) => one.accountId,
    );
  expect(await listed()).toEqual([ORG, 'acct_own']);
  expect(await listed('--product', 'images')).toEqual(['acct_images']);
  expect(await program.json('payment', 'list')).toEqual([]);
  expect(program.warned).toBe(warned);
  await expect(listed('--product', 'none')).rejects.toMatchObject({
    ...{
      exitCode: EXIT.refused,
      message: '--product: the ledger has no accounts of "none"; it has those of gateway, images',
    },
  });
  writeFileSync(program.file, JSON.stringify({ ...JSON.parse(readFileSync(program.file, 'utf8')), product: 'chat' }));
  expect(await listed()).toEqual([]);
  const none =
    'warning: the ledger has no accounts of chat, the product of this configuration; it has those of gateway, images: where chat is no new one, mend `product` in the configuration\n';
  expect(program.warned).toBe(warned + none);
  expect(await program.json('payment', 'list')).toEqual([]);
  expect(program.warned).toBe(warned + none + none);
  expect(await listed('--product', 'images')).toEqual(['acct_images']);
  expect(program.warned).toBe(warned + none + none);
  expect(await program.json('account', 'show', ORG)).toMatchObject({
    organization: { product: 'gateway' },
    grants: [{ grantId: 'grant_trial' }],
  });
  await expect(program.run('account', 'list', '--product', 'No Product')).rejects.toThrow(/expected a product/);
});
