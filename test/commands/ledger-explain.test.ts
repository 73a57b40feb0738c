import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountStream, revision } from '../../contracts/ids.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { ACCOUNT, requestOf } from '../fixtures/ledger/example-account.ts';
import { lifeOfExceptions, publishCards } from '../fixtures/ledger/life-of-exceptions.ts';
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

  it('says of one that its provider has refused that nothing was reported', async () => {
    const { stdout } = await run('req_today-5');
    expect(stdout).toMatch(/^usage +none: the provider reported no tokens$/m);
  });

  it('says of a request that the journal has, and the ledger not, that it waits there', async () => {
    const kept = readKept(COMMIT, 'sqlite', 'whole');
    const added = kept.computed.added.acct_ada?.map(({ data }) => data as { readonly requestId?: string });
    const waiting = added?.find(({ requestId }) => requestId !== undefined)?.requestId ?? '';
    const said = await runHere('--data', `${kept.folder}/data`, 'ledger', 'explain', waiting);
    expect(said.stderr).toMatch(/: the ledger has no such request; it is under way, or waits in the journal/);
  });
});

describe('what became of a request', () => {
  let program: ProgramInProcess;
  const log = new MemoryEventLog();
  beforeAll(async () => {
    await publishCards(log);
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
    expect(said).toMatch(
      /^usage +estimated by the gateway, for the provider's count at the end did not come, or cannot be read$/m,
    );
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
      /^gift +promotional credits +0\.000050\nno grant +owed: the next credits fill it first +0\.000060$/m,
    );
    expect(said).toMatch(/^100% of the monthly limit of key "ci" reached: 0\.000120 of 0\.000020 USD in 2026-11$/m);
  });

  it('is told: free by its rate card', async () => {
    expect(await explain(5)).toMatch(/^used: 4,000 output\nnothing was debited: by its rate card it costs nothing$/m);
  });

  /** As a terminal of so many columns shows it. */
  async function shown(number: number, columns: number, hasColours: boolean): Promise<string> {
    let said = '';
    const write = (text: string): void => {
      said += text;
    };
    const painted = hasColours ? { writePainted: write } : {};
    const args = ['--config', program.file, 'ledger', 'explain', requestOf(number)];
    expect(await runGatewayProgram({ ...program.context, write, columns, ...painted }, args)).toBe(0);
    return said;
  }
  const signs = (text: string): string => [...text.replaceAll(/\s/g, '')].toSorted().join('');

  it.each([1, 2, 3, 4, 5])(
    'finds room on a terminal of 40 columns and more: nothing of request %i is lost',
    async (n) => {
      const whole = await shown(n, 1_000, false);
      expect(await shown(n, 0, false)).toBe(whole);
      for (const columns of [40, 66, 90]) {
        const narrow = await shown(n, columns, false);
        expect(Math.max(...narrow.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(columns);
        for (const word of whole.split(/\s+/)) expect(narrow.replaceAll(/\s/g, '')).toContain(word);
        if (columns === 90) expect(signs(narrow)).toBe(signs(whole));
      }
    },
  );

  it('has each product in a block of its own where there is no room for columns', async () => {
    const narrow = await shown(4, 40, false);
    expect(narrow).toMatch(
      /^output tokens\n {2}count +30\n {2}rate \(USD\) +2\.000000 a million\n {2}product \(USD\) +0\.000060000000$/m,
    );
    expect(narrow).toMatch(/^carried to the next debit\n {2}product \(USD\) +-0\.000000000240$/m);
    expect(narrow).toMatch(/^request\n {2}req_019a5b3c000070008000000000000004$/m);
  });

  it('is painted where there are colours, and says the same', async () => {
    for (const columns of [0, 40, 120]) {
      const [plain, painted] = [await shown(2, columns, false), await shown(2, columns, true)];
      expect(plain).not.toContain('\u001b');
      expect(stripVTControlCharacters(painted).replaceAll(/ +$/gm, '')).toBe(plain);
      expect(painted).toContain('\u001b[1mrequest\u001b[22m');
      expect(painted).toContain('service_tier: ba\\u000atch');
    }
    expect(await shown(2, 120, true)).toContain('\n\u001b[1mwhat was used\u001b[22m');
  });
});
