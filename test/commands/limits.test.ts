import { beforeEach, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountId, accountStream, commandOfRequest, keyId } from '../../contracts/ids.ts';
import { loadAccount } from '../../ledger/account/load-account.ts';
import { recordUsage } from '../../ledger/account/record-usage.ts';
import { EXIT } from '../../proxy/program/command-error.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { CARD, usageOf } from '../fixtures/ledger/example-account.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

const ORG = 'acct_org';
const BEN = 'Ben@example.com';
let program: ProgramInProcess;
let bens: string;
beforeEach(async () => {
  program = endedLater(await programInProcess());
  program.clock = () => Date.parse('2026-11-06T12:00:00.000Z');
  await run('account', 'open', '--kind', 'organization', '--email', 'ada@example.com', '--id', ORG, '--trial-usd', '9');
  await run('member', 'add', ORG, BEN);
  bens = String((await json('key', 'issue', ORG, '--member', BEN)).keyId);
});

const run = (...words: string[]) => program.run('--trust-clock', ...words);
const json = (...words: string[]) => program.json('--trust-clock', ...words);
const set = (...words: string[]) => run('limit', 'set', ORG, ...words);

/** One request of Ben's. */
async function spend(microUsd: number): Promise<void> {
  const { state, revision } = await loadAccount(program.log, accountId(ORG));
  if (state.type === 'unopened') throw new Error('no account');
  const usage = usageOf(1, microUsd, { keyId: keyId(bens) });
  const recording = { commandId: commandOfRequest(usage.requestId), actor: bens, recordedAt: usage.finishedAt };
  await program.log.append(
    accountStream(accountId(ORG)),
    revision,
    encodeEvents(recordUsage(state, usage, CARD), recording),
  );
}

it("gateway limit set sets a member's limit, hard or soft, with thresholds, which account show has with what was told", async () => {
  expect(await set('--member', 'ben@EXAMPLE.com', '--usd', '2', '--thresholds', '90,60,60')).toMatch(
    /^ben@EXAMPLE\.com has a monthly limit of 2\.000000 USD, told at 60, 90%; nothing was set aside for requests before/,
  );
  expect(await set('--member', 'ben@EXAMPLE.com', '--usd', '3')).toMatch(/of 3\.000000 USD, told at 60, 90%; nothing/);
  await set('--member', 'ben@EXAMPLE.com', '--usd', '2');
  expect(await set('--usd', '1', '--soft')).toMatch(
    /^acct_org has a soft monthly limit, by which nothing is refused, of 1\.000000 USD\n/,
  );
  await set('--key', bens, '--usd', '0.5', '--soft');
  await spend(1_300_000);
  const shown = await run('account', 'show', ORG);
  const rows = shown.split('\n').map((line) =>
    line
      .split(/ {2,}/)
      .map((cell) => cell.trim())
      .filter((cell) => cell !== ''),
  );
  const row = (of: string) => rows.find(([first]) => first === of);
  expect(row('the account')).toEqual([
    'the account',
    'soft',
    '1.000000',
    '1.300000',
    '-0.300000',
    '50, 80, 100%',
    '50, 80, 100%',
  ]);
  expect(row(BEN)).toEqual([BEN, 'hard', '2.000000', '1.300000', '0.700000', '60, 90%', '60%']);
  expect((await json('account', 'show', ORG)).limits).toMatchObject([
    { keyId: null, member: null, mode: 'soft', limit: '1000000', told: [50, 80, 100] },
    { member: BEN, mode: 'hard', limit: '2000000', spent: '1300000', left: '700000', told: [60] },
    { keyId: bens, mode: 'soft', limit: '500000', told: [50, 80, 100] },
  ]);
  expect(await run('key', 'list', ORG)).toContain('0.500000, soft');
  expect(await set('--member', BEN, '--none')).toMatch(/^Ben@example\.com has no monthly limit\n/);
  expect((await json('account', 'show', ORG)).limits).toHaveLength(2);
});

it('gateway limit set lifts no hard limit by a soft one unsaid, and says that it did', async () => {
  const limits = async () => (await json('account', 'show', ORG)).limits;
  await set('--usd', '100');
  await set('--member', BEN, '--usd', '7', '--soft');
  await set('--member', BEN, '--usd', '5', '--soft');
  await expect(set('--usd', '50', '--soft')).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: expect.stringMatching(/^acct_org: .* lifts the hard limit of 100\.000000 USD; say --lift-hard, /),
  });
  expect(await limits()).toMatchObject([{ mode: 'hard', limit: '100000000' }, { member: BEN }]);
  expect(await set('--usd', '50', '--soft', '--lift-hard')).toMatch(/; the hard limit of 100\.000000 USD is lifted\n/);
  expect(await limits()).toMatchObject([
    { mode: 'soft', limit: '50000000' },
    { member: BEN, limit: '5000000' },
  ]);
  await expect(set('--usd', '50', '--lift-hard')).rejects.toMatchObject({ exitCode: EXIT.usage });
});

it('gateway limit set says what it cannot take', async () => {
  const usage = (message: RegExp) => ({ exitCode: EXIT.usage, message: expect.stringMatching(message) });
  await expect(set('--member', BEN, '--key', bens, '--usd', '1')).rejects.toMatchObject(
    usage(/^say one of --account, /),
  );
  await expect(set('--none', '--soft')).rejects.toMatchObject(usage(/are of a limit: say --usd <amount>/));
  for (const wrong of ['0', '101', '5.5', 'x', ''])
    await expect(set('--usd', '1', '--thresholds', wrong)).rejects.toThrow(/expected whole percents from 1 to 100/);
  await expect(set('--member', 'eve@example.com', '--usd', '1')).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: expect.stringMatching(/eve@example\.com is no member/),
  });
});
