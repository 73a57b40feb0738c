import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OldProgram } from './old-program.ts';

export interface OpenedKey {
  readonly accountId: string;
  readonly keyId: string;
  readonly key: string;
}

/** Keys by the names that this file gives them. */
export type OpenedKeys = Readonly<Record<'laptop' | 'limited' | 'narrow' | 'revoked' | 'team' | 'debtor', OpenedKey>>;

const DAY_MS = 86_400_000;

const model = (id: string, input: string, output: string, more: object = {}) => ({
  id,
  display_name: id,
  family: 'opal',
  label: id,
  group: 'Written before',
  context_window: 200_000,
  price: { input, output },
  upstreams: [{ provider: 'test', model: id }],
  ...more,
});

const catalog = (input: string) => ({
  models: [
    model('opal-medium', input, '15.00', { caching: 'explicit' }),
    model('opal-fast', '1.000020', '5.000007', { caching: 'explicit', lanes: ['standard', 'fast'] }),
    model('granite-pro', '1.25', '10.00', { caching: 'automatic' }),
  ],
});

/** Writes the catalog of the first life. */
export const firstCatalog = (file: string): void => writeFileSync(file, JSON.stringify(catalog('3.00')));

/** Opens accounts with grants of every kind, keys and limits. */
export async function openAccounts(program: OldProgram): Promise<OpenedKeys> {
  const { command } = program;
  const instant = (days: number): string =>
    new Date(Date.now() + program.clockOffsetMs + days * DAY_MS).toISOString().replace(/\.\d+/, '');
  const issue = (account: string, ...how: string[]) => command('key', 'issue', account, ...how) as Promise<OpenedKey>;
  await command('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  await command('credits', 'grant', 'acct_ada', '--usd', '20', '--id', 'grant_bought', '--source', 'purchase');
  const ending = ['--source', 'promotion', '--priority', '10'];
  await command(
    'credits',
    'grant',
    'acct_ada',
    '--usd',
    '0.5',
    ...ending,
    '--id',
    'grant_past',
    '--expires',
    instant(1),
  );
  await command('credits', 'grant', 'acct_ada', '--usd', '4', '--id', 'grant_ending', '--expires', instant(60));
  await command('limit', 'set', 'acct_ada', '--usd', '6');
  await command('account', 'open', '--email', 'team@example.com', '--kind', 'organization', '--id', 'acct_team');
  await command('account', 'open', '--email', 'debt@example.com', '--id', 'acct_debt', '--trial-usd', '0.02');
  const keys = {
    laptop: await issue('acct_ada', '--name', 'laptop', '--expires', instant(300)),
    limited: await issue('acct_ada', '--name', 'limited', '--monthly-limit-usd', '1'),
    narrow: await issue('acct_ada', '--name', 'narrow', '--models', 'opal-fast,granite-pro'),
    revoked: await issue('acct_ada', '--name', 'revoked'),
    team: await issue('acct_team', '--name', 'team'),
    debtor: await issue('acct_debt', '--name', 'debtor'),
  };
  return keys;
}

/** What the accounts spent three days ago, at the prices of then: part of a grant that has expired since. */
export async function spendThreeDaysAgo(url: string, keys: OpenedKeys): Promise<void> {
  await whole(url, keys.laptop, 'past-1', 'opal-medium', { tokens: { input: 20_011, output: 901, cacheRead: 777 } });
  await whole(url, keys.revoked, 'past-2', 'granite-pro', { tokens: { input: 333, output: 77, cacheRead: 5_001 } });
  await whole(url, keys.team, 'past-3', 'opal-fast', { tokens: { input: 1_003, output: 507 } });
}

/** Today: another catalog, every kind of ending, limits crossed, a key revoked. */
export async function spendToday(url: string, keys: OpenedKeys, program: OldProgram, folder: string): Promise<void> {
  const file = join(folder, 'second-catalog.json');
  writeFileSync(file, JSON.stringify(catalog('3.500020')));
  await program.command('catalog', 'publish', file);
  await program.command('key', 'revoke', 'acct_ada', keys.revoked.keyId);
  const cached = { input: 9_001, output: 803, cacheRead: 12_007, cacheWrite5m: 1_009, cacheWrite1h: 507 };
  await whole(url, keys.laptop, 'today-1', 'opal-medium', { tokens: cached }, { stream: true });
  await whole(url, keys.laptop, 'today-2', 'opal-medium', { tokens: cached });
  const priority = { tokens: { input: 5_003, output: 707 }, serviceTier: 'priority' };
  await whole(url, keys.narrow, 'today-3', 'opal-fast', priority, { stream: true, speed: 'fast' });
  await whole(url, keys.narrow, 'today-4', 'opal-fast', { tokens: { input: 5_003, output: 707 } }, { speed: 'fast' });
  await whole(url, keys.laptop, 'today-5', 'granite-pro', { tokens: { input: 11, output: 3 }, ending: 'status-500' });
  await whole(
    url,
    keys.laptop,
    'today-6',
    'granite-pro',
    { tokens: { input: 907, output: 3 }, ending: 'reset' },
    { stream: true },
  );
  const leaving = start(url, keys.laptop, 'today-7', 'granite-pro', { ending: 'silent', events: 4 }, { stream: true });
  await leaving.leaveOnceAnswered();
  for (let index = 8; index < 20; index++)
    await whole(url, keys.limited, `today-${index}`, 'opal-medium', { tokens: { input: 10_003, output: 997 + index } });
  await whole(url, keys.laptop, 'today-20', 'opal-medium', { tokens: { input: 300_001, output: 990 } });
  // Its upstream reports more than was asked for: part of the debit is not covered by any grant.
  await whole(url, keys.debtor, 'today-21', 'opal-medium', { tokens: { input: 2_003, output: 3_001 } });
}

/** Requests that are under way, and others that end while the log takes nothing. Resolves when the latter have ended. */
export async function leaveOpen(
  url: string,
  keys: OpenedKeys,
  between: { readonly beforeStandstill: () => Promise<void>; readonly standstill: () => Promise<void> },
): Promise<void> {
  const silent = { ending: 'silent', events: 4, tokens: { input: 601, output: 9 } };
  await start(url, keys.laptop, 'open-1', 'opal-medium', silent, { stream: true }).answered;
  await start(url, keys.team, 'open-2', 'opal-fast', silent, { stream: true }).answered;
  start(url, keys.limited, 'open-3', 'opal-medium', { ending: 'silent-before-head' });
  const slow = (more: object = {}) => ({
    delayMs: 2_500,
    events: 3,
    tokens: { input: 4_001, output: 203, cacheRead: 3_011, cacheWrite5m: 101 },
    ...more,
  });
  // Admitted before the log stands still, because without it no credit could be leased.
  const ending = [
    start(url, keys.team, 'ended-1', 'opal-fast', slow(), { stream: true }),
    start(url, keys.laptop, 'ended-2', 'opal-medium', slow(), { stream: true }),
    start(url, keys.narrow, 'ended-3', 'opal-fast', slow({ serviceTier: 'priority' }), { stream: true, speed: 'fast' }),
    start(url, keys.limited, 'ended-4', 'opal-medium', slow({ tokens: { input: 3, output: 1 } }), { stream: true }),
    start(url, keys.laptop, 'ended-5', 'granite-pro', slow({ ending: 'reset' }), { stream: true }),
  ];
  await Promise.all(ending.map(({ answered }) => answered));
  await between.beforeStandstill();
  await between.standstill();
  await Promise.all(ending.map(({ ended }) => ended));
}

async function whole(
  url: string,
  key: OpenedKey,
  id: string,
  model: string,
  script: object,
  body: object = {},
): Promise<void> {
  await start(url, key, id, model, script, body).ended;
}

/** The gateway's answer to one request. Whatever becomes of it is no failure here: `computed.json` says what was billed. */
function start(url: string, { key }: OpenedKey, id: string, model: string, script: object, body: object = {}) {
  const leaving = new AbortController();
  const answered = fetch(`${url}/v1/messages`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      max_tokens: 1_000,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello', cache_control: { type: 'ephemeral' } }] }],
      metadata: { script: { id, ...script } },
      ...body,
    }),
  });
  const ended = answered
    .then((response) => response.arrayBuffer())
    .then(
      () => undefined,
      () => undefined,
    );
  answered.catch(() => undefined);
  const leaveOnceAnswered = async (): Promise<void> => {
    await answered;
    leaving.abort();
    await ended;
  };
  return { answered, ended, leaveOnceAnswered };
}
