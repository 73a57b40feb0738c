import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent, DomainEvent, UsageRecorded } from '../../contracts/events.ts';
import { accountStream, CATALOG_STREAM, commandId, LEDGER_STREAM, leaseId, revision } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { rateCard } from '../../contracts/rate-card.ts';
import { NO_TOKENS } from '../../contracts/usage.ts';
import { type AccountState, INITIAL_ACCOUNT } from '../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { decide } from '../../ledger/account/decide.ts';
import { evolve } from '../../ledger/account/evolve.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { MODEL } from '../contracts/example-parts.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { ACCOUNT, CARD, granted, keyIssued, opened, requestOf, usageOf } from '../fixtures/ledger/example-account.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { proposedLife } from '../ledger/statement/stored-life.ts';
import { type Kind, putBack, readKept } from '../written-before/kept-state.ts';

/** The first request of a ledger of before. */
const FIRST = `request        req_01a1f19f4401715eb15228a3e23acc85
asked by       key "laptop" (key_3928997e04b60528, ends in rEGk)
of account     acct_ada (personal, ada@example.com)
model          opal-medium, run by test as opal-medium
provider's id  req_past-1
started        2026-11-19 02:25:09.137 UTC
ended          2026-11-19 02:25:09.165 UTC, after 0.028 s
written down   2026-11-19 02:25:09.174 UTC, revision 11
outcome        completed
lane           standard
usage          as the provider reported it
hold           not kept in records of that time
lease          lease_proxy_01a1f19f439170e786ed94655aae6817, of gateway proxy_01a1f19f439170e786ed94655aae6817
rate card      opal-medium version 1, published with catalog version 1 at 2026-11-19 02:25:08.992 UTC
its hash       44d652a1d99d07db44a2ea6361dd03e933e96002afc44ddfea1fbc0adfa4faa9
its rates      3.000000 USD a million input tokens
               15.000000 USD a million output tokens
               0.300000 USD a million cache read tokens
               3.750000 USD a million 5-minute cache write tokens
               6.000000 USD a million 1-hour cache write tokens

what was used                   count           rate (USD)    product (USD)
input tokens                   20,011   3.000000 a million   0.060033000000
output tokens                     901  15.000000 a million   0.013515000000
cache read tokens                 777   0.300000 a million   0.000233100000
cost                                                         0.073781100000
carried from the debit before                               +0.000000000000
carried to the next debit                                   -0.000000100000
debited                                                      0.073781000000

paid from    which is       amount (USD)
grant_trial  trial credits      0.073781
balance: 29.500000 USD before, 29.426219 USD after
spent in 2026-11 with it: 0.073781 USD by the account, 0.073781 USD by the key
`;

const COMMIT = '76ed563';
const LAPTOPS_FIRST = 'req_01a1f19f4401715eb15228a3e23acc85';

interface Explained {
  readonly accountId: string;
  readonly usage: { readonly data: { readonly requestId: string; readonly upstream: { readonly requestId: string } } };
  readonly debit: null | { readonly data: { readonly cost: string; readonly lines: readonly { cost: string }[] } };
  readonly faults: readonly string[];
}

describe.each<Kind>(['sqlite', 'eventstoredb'])('requests of a ledger of before, in %s', (kind) => {
  it('are explained by our id and by the provider’s, with products that add up and nothing amiss', async () => {
    const { log } = await putBack(COMMIT, kind, 'ledger');
    const program = endedLater(await programInProcess(log));
    const explain = async (...args: readonly string[]): Promise<Explained> =>
      (await program.json('ledger', 'explain', ...args)) as unknown as Explained;
    const requests = new Set<string>();
    for await (const { type, data } of log.readAll())
      if (type === 'UsageRecorded') requests.add(JSON.parse(data).requestId);
    expect(requests.size).toBeGreaterThan(10);
    for (const id of requests) {
      const explained = await explain(id);
      expect(explained).toMatchObject({ usage: { data: { requestId: id } }, faults: [] });
      const { debit, usage, accountId } = explained;
      if (debit !== null)
        expect(debit.data.lines.reduce((sum, { cost }) => sum + BigInt(cost), 0n)).toBe(BigInt(debit.data.cost));
      const { requestId } = usage.data.upstream;
      if (requestId === null) continue;
      expect(await explain(requestId, '--account', accountId)).toEqual(explained);
    }
  });
});

describe('on the command line', () => {
  const { folder } = readKept(COMMIT, 'sqlite', 'ledger');
  const run = (...args: string[]) => runHere('--data', `${folder}/data`, 'ledger', 'explain', ...args);

  it('a request is told as a person would ask about it, in 120 columns', async () => {
    const { exitCode, stdout, stderr } = await run(LAPTOPS_FIRST);
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toBe(FIRST);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
    expect((await run('req_past-1')).stdout).toBe(FIRST);
  });

  it.each([
    [
      'a request that there is not',
      [LAPTOPS_FIRST.replace('req_01', 'req_02')],
      /^gateway: req_02\w+: the ledger has no such request; what was refused .*\n$/,
    ],
    ['an id that is none of ours', ['msg_none'], /^gateway: msg_none: the ledger has no such request; /],
    ['a request of another account', [LAPTOPS_FIRST, '--account', 'acct_team'], /: acct_team has no such request; /],
    [
      'an account that there is not',
      [LAPTOPS_FIRST, '--account', 'acct_none'],
      /^gateway: acct_none: there is no such account\n$/,
    ],
  ])('refuses %s', async (_what, args, said) => {
    const ended = await run(...args);
    expect(ended).toMatchObject({ exitCode: 3, stdout: '' });
    expect(ended.stderr).toMatch(said);
  });

  it('says of a request that the journal has, and the ledger not, that it waits there', async () => {
    const kept = readKept(COMMIT, 'sqlite', 'whole');
    const added = kept.computed.added.acct_ada?.map(({ data }) => data as { readonly requestId?: string });
    const waiting = added?.find(({ requestId }) => requestId !== undefined)?.requestId ?? '';
    const said = await runHere('--data', `${kept.folder}/data`, 'ledger', 'explain', waiting);
    expect(said.stderr).toMatch(/: the ledger has no such request; it is under way, or waits in the journal/);
  });
});

/** A life with everything that can become of a request. */
const FREE = rateCard(
  'opal-free',
  1,
  { input: 0n, output: 0n, cacheRead: 0n, cacheWrite5m: 0n, cacheWrite1h: 0n } as never,
  null,
);
const LEASED = {
  ...exampleOf('CreditsLeased'),
  data: { ...exampleOf('CreditsLeased').data, amount: microUsd(100n) },
} as AccountEvent;
const ending = { reason: 'the provider confirms it', actor: 'operator' };

function lifeOfExceptions(): AccountEvent[] {
  const events: AccountEvent[] = [
    opened,
    granted('gift', 60, { source: 'promotion', costBasis: microUsd(0n) }),
    keyIssued({ monthlyLimit: microUsd(20n) }),
    LEASED,
  ];
  let state = events.reduce<AccountState>(evolve, INITIAL_ACCOUNT);
  const take = (command: AccountCommand): void => {
    const decided = decide(command, state);
    if ('type' in decided) throw new Error(decided.message);
    for (const event of decided) state = evolve(state, event);
    events.push(...decided);
  };
  const record = (usage: UsageRecorded, card = CARD, lease = false): void =>
    take({ type: 'RecordUsage', usage, card, leaseId: lease ? leaseId('lease-1') : null });
  record(usageOf(1, 7, { hold: microUsd(2n) }));
  take({ type: 'ApproveException', requestId: requestOf(1), ...ending });
  record(
    usageOf(2, 3, {
      outcome: 'client_disconnected',
      source: 'estimated',
      unpriced: ['service_tier: ba\ntch'],
      uses: { tool_calls: 2 },
    }),
  );
  take({ type: 'DropException', requestId: requestOf(2), ...ending, reason: 'a tier of theirs' });
  record(usageOf(3, 0, { outcome: 'recovered', source: 'estimated', billable: false }));
  take({ type: 'ReportLateUsage', usage: usageOf(3, 9), card: CARD });
  const tokens = { ...NO_TOKENS, output: 30, cacheWrite5m: 1_000_000, cacheWrite1h: 3 };
  record(usageOf(4, 0, { lane: 'fast', tokens }), CARD, true);
  record(
    usageOf(5, 4_000, { model: 'opal-free', rateCard: { id: FREE.id, version: FREE.version, hash: FREE.hash } }),
    FREE,
  );
  return events;
}

/** The catalog that has their rate cards. */
async function publish(log: MemoryEventLog, spoil = (data: string): string => data): Promise<void> {
  const catalog: DomainEvent = {
    type: 'CatalogPublished',
    data: {
      ...exampleOf('CatalogPublished').data,
      models: [
        { ...MODEL, rateCard: CARD },
        { ...MODEL, id: 'opal-free', rateCard: FREE },
      ],
    },
  };
  const recording = {
    commandId: commandId('019a5b3c-2222-7000-8000-00000000000a'),
    actor: 'operator',
    recordedAt: '2026-11-05T09:00:00.000Z',
  };
  const proposed = encodeEvents([catalog], recording).map((event) => ({ ...event, data: spoil(event.data) }));
  await log.append(CATALOG_STREAM, revision(-1), proposed);
}

describe('what became of a request', () => {
  let program: ProgramInProcess;
  const log = new MemoryEventLog();
  beforeAll(async () => {
    await publish(log);
    await log.append(accountStream(ACCOUNT), revision(-1), proposedLife(lifeOfExceptions()));
    program = await programInProcess(log);
  });
  afterAll(() => program.close());
  const explain = (number: number) => program.run('ledger', 'explain', requestOf(number));

  it('is told: left out by its hold, and approved', async () => {
    const said = await explain(1);
    expect(said).toMatch(/^hold +0\.000002 USD at the most was held for it$/m);
    expect(said).toMatch(/^lease +none: one gateway has all of the account's credit$/m);
    expect(said).toMatch(/^output tokens +7 +1\.000000 a million +0\.000007000000$/m);
    expect(said).toMatch(/^beyond its hold, left out +-0\.000005000000\ndebited +0\.000002000000$/m);
    expect(said).toMatch(/^balance: 0\.000060 USD before, 0\.000058 USD after$/m);
    expect(said).toMatch(/^gift +promotional credits +0\.000002$/m);
    expect(said).toMatch(
      /UTC, revision \d+: operator approved what was left out or came late: the provider confirms it, req_\w+\ncost 0\.000005000000 USD, carry 0\.000000000000 before and 0\.000000000000 after; debited 0\.000005 USD; balance 0\.000053 USD$/m,
    );
    expect(said).not.toContain('an exception, open');
  });

  it('is told: estimated, without a price, the client gone, and dropped', async () => {
    const said = await explain(2);
    expect(said).toMatch(/^outcome +the client left before its end$/m);
    expect(said).toMatch(/^usage +estimated by the gateway, for the provider's count at the end did not come$/m);
    expect(said).toMatch(/^no price for service_tier: ba\\u000atch: billed as standard, or not at all$/m);
    expect(said).toMatch(
      /revision \d+: operator dropped 0\.000000 USD for good, never to be debited: a tier of theirs, req_/,
    );
  });

  it('is told: lost with its gateway, reported late, and still open', async () => {
    const said = await explain(3);
    expect(said).toMatch(/^used: no tokens\nnothing was debited: an ending of its kind is not charged$/m);
    expect(said).toMatch(/^balance: 0\.000050 USD before, 0\.000050 USD after$/m);
    expect(said).toMatch(
      /revision \d+: opal-medium: 9 output, reported late: 0\.000009 USD wait for an operator's decision, req_/,
    );
    expect(said).toMatch(/^output tokens +9 +1\.000000 a million +0\.000009000000\ncost +0\.000009000000$/m);
    expect(said).toMatch(/^an exception, open until an operator approves or drops it: gateway exception list$/m);
  });

  it('is told: the fast lane, a lease, what no grant covered, and the limits that it reached', async () => {
    const said = await explain(4);
    expect(said).toMatch(/^lane +fast$/m);
    expect(said).toMatch(/^lease +lease-1, of gateway proxy-1$/m);
    expect(said).toMatch(/^its rates +0\.000020 USD a million input tokens, times 2 in the fast lane$/m);
    expect(said).toMatch(/^output tokens +30 +2\.000000 a million +0\.000060000000$/m);
    expect(said).toMatch(/^5-minute cache write tokens +1,000,000 +0\.000050 a million +0\.000050000000$/m);
    expect(said).toMatch(/^carried to the next debit +-0\.000000000240$/m);
    expect(said).toMatch(
      /^gift +promotional credits +0\.000050\nno grant +owed: the next grant fills it first +0\.000060$/m,
    );
    expect(said).toMatch(/^100% of the monthly limit of key "ci" reached: 0\.000120 of 0\.000020 USD in 2026-11$/m);
  });

  it('is told: free by its rate card', async () => {
    expect(await explain(5)).toMatch(/^used: 4,000 output\nnothing was debited: by its rate card it costs nothing$/m);
  });
});

describe('a stream that is not as it should be', () => {
  /** How the command ends on a log in which some of the life's stored events are others. */
  async function ended(
    spoil: (event: { type: string; data: string }) => { type: string; data: string } | null,
    {
      id = requestOf(1),
      spoilCatalog,
    }: { readonly id?: string; readonly spoilCatalog?: (data: string) => string | null } = {},
  ) {
    const log = new MemoryEventLog();
    const catalog = spoilCatalog === undefined ? (data: string): string => data : spoilCatalog;
    if (catalog('') !== null) await publish(log, (data) => catalog(data) ?? '');
    log.write(
      accountStream(ACCOUNT),
      proposedLife(lifeOfExceptions()).flatMap((event) => {
        const spoilt = spoil(event);
        return spoilt === null ? [] : [{ ...event, ...spoilt }];
      }),
    );
    const program = endedLater(await programInProcess(log));
    const said = { stdout: '', stderr: '' };
    const context = {
      ...program.context,
      write: (text: string) => {
        said.stdout += text;
      },
      warn: (text: string) => {
        said.stderr += text;
      },
    };
    const exitCode = await runGatewayProgram(context, ['--config', program.file, 'ledger', 'explain', id]);
    return { exitCode, ...said, log, program };
  }

  it('has the request explained, and what cannot be read in it told', async () => {
    const { stdout, stderr } = await ended((event) =>
      event.type === 'ApiKeyIssued' ? { ...event, data: '{}' } : event,
    );
    expect(stderr).toMatch(/^warning: acme: account-acme revision 2 \(ApiKeyIssued\): keyId: required/);
    const more = await ended((event) =>
      /Lease|Approved|Dropped|Late|Crossed/.test(event.type) ? { ...event, data: '[]' } : event,
    );
    expect(more.stderr).toMatch(
      /^(?:warning: acme: account-acme revision .*\n){3}warning: acme: \d more events cannot be read: gateway ledger replay acme\n$/,
    );
    expect(stdout).toMatch(/^asked by +key key_a$/m);
    expect(stdout).toMatch(/^debited +0\.000002000000$/m);
  });

  it('has no balance told behind what cannot be read, where nothing else says it', async () => {
    const { stdout } = await ended((event) => (event.type === 'ExceptionDropped' ? { ...event, data: '{}' } : event), {
      id: requestOf(3),
    });
    expect(stdout).toMatch(/^balance: not known, for events before it cannot be read$/m);
  });

  it('has each request named that a provider’s id is of, and none explained', async () => {
    const { exitCode, stdout, stderr } = await ended(
      (event) => ({ ...event, data: event.data.replace('"requestId":null', '"requestId":"msg_1"') }),
      { id: 'msg_1' },
    );
    expect([exitCode, stdout]).toEqual([3, '']);
    expect(stderr).toMatch(/^gateway: msg_1 is the provider's id of several requests; explain one of them:\n/);
    expect(stderr.match(/^ {2}req_\w+ --account acme$/gm)).toHaveLength(5);
  });

  it.each<[string, (data: string) => string | null, RegExp]>([
    ['is nowhere', () => null, /: not as it should be: the catalog has no such rate card\n$/],
    [
      'stands in an event that cannot be read',
      () => '{}',
      /has no such rate card; catalog revision 0 \(CatalogPublished\): /,
    ],
    [
      'is not what its hash says',
      (data) => data.replace('"output":"1000000"', '"output":"900000"'),
      /has no such rate card; the one of catalog version 3 does not match its hash\n$/,
    ],
  ])('ends with 5 where its rate card %s, after it was explained', async (_what, spoilCatalog, said) => {
    const { exitCode, stdout, stderr } = await ended((event) => event, { spoilCatalog });
    expect([exitCode, stderr]).toEqual([5, expect.stringMatching(said)]);
    expect(stdout).toMatch(/^debited +0\.000002000000$/m);
  });

  it.each<[string, Parameters<typeof ended>[0], RegExp]>([
    [
      'its rate is not the card’s',
      (event) => ({ ...event, data: event.data.replace('"rate":"1000000"', '"rate":"900000"') }),
      /output is billed at 0\.900000 USD a million; the rate card has 1\.000000 USD a million$/m,
    ],
    [
      'other tokens are billed than were used',
      (event) => ({ ...event, data: event.data.replace('"output":7', '"output":8') }),
      /: 7 output tokens are billed; its usage has 8; the cost is another than its usage and its rate card make$/m,
    ],
    [
      'it has no debit',
      (event) => (event.type === 'CreditsDebited' ? { ...event, type: 'UsageSpoilt' } : event),
      /; it is to be charged, and has no debit$/m,
    ],
    [
      'its balance does not follow',
      (event) => ({ ...event, data: event.data.replace('"balanceAfter":"58"', '"balanceAfter":"59"') }),
      /revision 5: It says 0\.000059 USD as the balance after it; by the events before it is 0\.000058/,
    ],
    [
      'its debit cannot be read',
      (event) => ({ ...event, data: event.data.replace('"cost":"7000000"', '"costs":"7000000"') }),
      /account-acme revision 5 \(CreditsDebited\): .*; it is to be charged, and has no debit/,
    ],
    [
      'it is debited twice',
      (event) =>
        event.type === 'ExceptionApproved' ? { ...event, type: 'CreditsDebited', data: debitOfOne() } : event,
      /revision 6 is its second CreditsDebited; the first is revision 5/,
    ],
  ])('ends with 5 where %s', async (_what, spoil, said) => {
    const { exitCode, stderr } = await ended(spoil);
    expect(exitCode).toBe(5);
    expect(stderr).toMatch(said);
  });

  it('has no request explained whose usage cannot be read', async () => {
    const unread = await ended((event) => (event.type === 'UsageRecorded' ? { ...event, type: 'UsageSpoilt' } : event));
    expect([unread.exitCode, unread.stderr]).toEqual([3, expect.stringMatching(/: the ledger has no such request; /)]);
    const broken = await ended((event) =>
      event.type === 'UsageRecorded' ? { ...event, data: event.data.replace('"lane":', '"lain":') } : event,
    );
    expect([broken.exitCode, broken.stderr]).toEqual([
      3,
      expect.stringMatching(/: acme has no usage of it that can be read: account-acme revision 4 \(UsageRecorded\): /),
    ]);
  });

  it('that was given up with a loss is told with its cause', async () => {
    const { log, program } = await ended((event) => event);
    const loss = exampleOf('LossAccepted');
    const requests = [{ requestId: requestOf(99), accountId: ACCOUNT, cause: 'the ledger has no such account' }];
    const recording = {
      commandId: commandId('019a5b3c-2222-7000-8000-00000000000b'),
      actor: 'operator',
      recordedAt: '2026-11-05T09:00:00.000Z',
    };
    log.write(LEDGER_STREAM, encodeEvents([{ ...loss, data: { ...loss.data, requests } }], recording));
    await expect(program.run('ledger', 'explain', requestOf(99))).rejects.toThrow(
      /: the ledger has no such request; it was given up when the loss of generation 2 was accepted: the ledger has no such account$/,
    );
  });

  it('costs the account’s own events and the catalog where the account is said', async () => {
    const { log, program } = await ended((event) => event);
    const others = log.readAll;
    log.readAll = () => {
      throw new Error('the log is looked through');
    };
    await program.run('ledger', 'explain', requestOf(1), '--account', ACCOUNT);
    await program.run('ledger', 'replay', ACCOUNT);
    await program.run('ledger', 'replay', ACCOUNT, '--at', '3');
    await expect(program.run('ledger', 'explain', requestOf(1))).rejects.toThrow('the log is looked through');
    log.readAll = others;
  });

  it('is told where the log hides it', async () => {
    const { log, program } = await ended((event) => event);
    log.hidden.add(accountStream(ACCOUNT));
    await expect(program.run('ledger', 'explain', requestOf(1), '--account', ACCOUNT)).rejects.toThrow('is hidden');
  });
});

const debitOfOne = (): string =>
  proposedLife(lifeOfExceptions()).find(({ type }) => type === 'CreditsDebited')?.data ?? '';
