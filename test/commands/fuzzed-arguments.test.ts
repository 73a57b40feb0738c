import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** Others look elsewhere, and longer: FUZZ_SEED=7 FUZZ_RUNS=1000 npx vitest … */
const SEED = Number(process.env.FUZZ_SEED ?? 10);
const RUNS = Number(process.env.FUZZ_RUNS ?? 40);

/** Each as it is meant; what begins with a brace is a value, of which some are replaced. */
const COMMANDS = [
  'account open --email {ada@example.com} --kind {personal} --id {acct_new} --trial-usd {5}',
  'account show {acct_ada}',
  'account list',
  'account usage {acct_ada} --month {2026-11}',
  'account statement {acct_ada} --month {2026-11} --format {csv}',
  'account suspend {acct_ada} --reason {why}',
  'account plan {acct_ada} {team} --reason {why}',
  'account reinstate {acct_ada} --reason {why}',
  'credits grant {acct_ada} --usd {1} --source {promotion} --cost-usd {0} --expires {2099-01-01} --priority {7} --id {mine}',
  'credits grant {acct_ada} --usd {1}',
  'credits reinstate {acct_ada} --grant {grant_trial} --usd {1} --expires {2099-01-01} --reason {why}',
  'credits revoke {acct_ada} --grant {grant_trial} --usd {1} --cause {refund} --payment {pi_1} --id {r1} --reason {why}',
  'credits restore {acct_ada} --revocation {r1} --usd {1} --id {b1} --reason {why}',
  'debit reverse {req_019a5b3c000070008000000000000001} --account {acct_ada} --usd {1} --id {r1} --reason {why}',
  'balance adjust {acct_ada} --up {1} --id {a1} --reason {why}',
  'key issue {acct_ada} --name {laptop} --expires {2099-01-01} --models {svc-mock} --monthly-limit-usd {1}',
  'key issue {acct_ada} --expires {2099-01-01} --key-only',
  'key revoke {acct_ada} {key_0123456789abcdef}',
  'key list {acct_ada}',
  'limit set {acct_ada} --usd {1}',
  'limit set {acct_ada} --key {key_0123456789abcdef} --none',
  'catalog publish {file}',
  'catalog show',
  'plan list',
  'exception list {acct_ada} --all',
  'exception approve {req_019a5b3c000070008000000000000001} --reason {why} --account {acct_ada} --dry-run',
  'exception drop {req_019a5b3c000070008000000000000001} --reason {why}',
  'ledger events {acct_ada} --from {0} --limit {3}',
  'ledger replay {acct_ada} --from {0} --to {2027-01-31}',
  'ledger replay {acct_ada} --at {2099-01-31}',
  'ledger report --month {2027-01}',
  'ledger explain {req_019a5b3c000070008000000000000001} --account {acct_ada}',
  'ledger reconcile {usage.csv} --provider {example} --from {2027-01-01}',
  'ledger forms --adopt --gone {prx_0123}',
  'ledger accept-loss --reason {why}',
];

const ODD = [
  ...['', ' ', 'a\nb', 'a\u0000b', '\u202egnp', '\ud800', '🙂', 'x'.repeat(600), '$(id)', '{}', ',', '%s', 'null'],
  ...'- -- -1 0 1 1e3 0x10 01 NaN Infinity 1.0000001 9007199254740993 99999999999999999999'.split(' '),
  ...'2027-02-31 2027-13-01 0000-00-00 9999-12-31T23:59:60Z 275760-09-14 2027-01-31T25:00:00Z'.split(' '),
  ...'2027-02-28 +275760-09-13 acct_ada acct_nobody ACCT a/../b ../../etc/passwd / /dev/null'.split(' '),
  ...'__proto__ constructor toString hasOwnProperty ada@example.com a@b.c svc-mock svc-mok'.split(' '),
  'key_0123456789abcdef',
];

const value = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ODD) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
);
const asked = fc
  .constantFrom(...COMMANDS)
  .map((command) => command.split(' '))
  .chain((tokens) =>
    fc.tuple(
      ...tokens.map((token) =>
        token.startsWith('{')
          ? fc.oneof({ weight: 2, arbitrary: fc.constant(token.slice(1, -1)) }, { weight: 1, arbitrary: value })
          : fc.constant(token),
      ),
      fc.constantFrom('', '', '', '--json', '--nonsense', 'more'),
    ),
  )
  .map((args) => args.filter((arg, at) => arg !== '' || at < args.length - 1));

let data = '';
beforeAll(async () => {
  data = temporaryFolder();
  await runHere('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--data', data);
});

it(`odd arguments end in one clear line or in what was asked for, never in a stack or in nothing (seed ${SEED})`, async () => {
  const codes = new Set<number>();
  await fc.assert(
    fc.asyncProperty(asked, async (args) => {
      const { exitCode, stdout, stderr } = await runHere('--data', data, ...args);
      expect([0, 2, 3, 4]).toContain(exitCode);
      expect(`${stdout}${stderr}`).not.toMatch(/^ {4}at |ZodError|TypeError|RangeError|\[object |Invalid time value/m);
      codes.add(exitCode);
      if (exitCode === 0 && !args.includes('--limit') && !args.includes('--from')) expect(stdout).not.toBe('');
      else if (exitCode === 0) expect(stderr).toBe('');
      else {
        expect(stdout).toBe('');
        expect(stderr).toMatch(/^(?:gateway|error): ./m);
      }
    }),
    { seed: SEED, numRuns: RUNS },
  );
  expect([...codes]).toEqual(expect.arrayContaining([0, 2, 3]));
});
