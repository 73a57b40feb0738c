import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { EventLogError } from '../../contracts/event-log.ts';
import { accountId, accountStream, commandId, revision } from '../../contracts/ids.ts';
import { readParked } from '../../projections/parked-accounts.ts';
import { call } from '../fixtures/gateway/call.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { newId } from '../fixtures/ledger/shared-log.ts';
import { runHere, runHereForJson, runHereWith } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { doctor } from './doctored.ts';

const REASON = ['--reason', 'its balance looks wrong'];
const WAITS = 'what has waited is not read yet';
const TWICE = 'grant_first is granted twice';
const WHY = 'parked by an operator: its balance looks wrong';

async function answerTo(gateway: TestGateway, key = gateway.key): Promise<string> {
  const answer = await postMessage(gateway, { model: 'svc-mock', key });
  const text = (await answer.rest()).toString();
  return answer.status === 200 ? '200' : `${answer.status} ${text}`;
}
const balanceOf = ({ gateway, accountId }: TestGateway) => {
  const { state } = gateway.process.projections.accounts.read(accountId);
  return state.type === 'open' ? state.balance : null;
};
/** Its grant is made once more, as nobody has decided. @returns at which revision */
async function grantTwice({ log, accountId, events }: TestGateway): Promise<number> {
  const all = await events();
  const recording = { commandId: commandId(newId()), actor: 'operator', recordedAt: new Date().toISOString() };
  const twice = all.filter((event) => event.type === 'CreditsGranted').slice(0, 1);
  await log.append(accountStream(accountId), revision(all.length - 1), encodeEvents(twice, recording));
  return all.length;
}

/** As whoever puts a ledger's file right by hand: no program of ours changes an event. */
function mend(data: string, at: number): void {
  const ledger = new DatabaseSync(join(data, 'ledger.db'), { timeout: 60_000 });
  ledger.exec('DROP TRIGGER event_is_never_updated');
  const mended = `UPDATE event SET data = json_set(data, '$.grantId', 'grant_other') WHERE type = 'CreditsGranted' AND revision = ?`;
  expect(ledger.prepare(mended).run(at).changes).toBe(1);
  ledger.close();
}

const grant = (data: string) => runHereForJson('credits', 'grant', 'acct_test', '--usd', '1', '--data', data);

it('a parked account alone is refused, its events wait, also over a restart, and unparked it reads them', async () => {
  const first = await startTestGateway();
  const { data } = first;
  const other = accountId('acct_other');
  await runHereForJson('account', 'open', '--email', 'o@example.com', '--id', other, '--data', data);
  const { key } = (await runHereForJson('key', 'issue', other, '--data', data)) as { key: string };
  expect(await runHereForJson('projections', 'park', 'acct_test', ...REASON, '--data', data)).toMatchObject({
    parked: 'in the gateway',
  });
  expect(await answerTo(first)).toMatch(new RegExp(`^529 .*${WHY}`));
  expect(await answerTo(first, key)).toBe('200');
  await grant(data);
  await first.gateway.process.settlement.idle();
  await first.gateway.process.projections.whenWritten();
  expect((await runHere('projections', 'diff', '--all', '--data', data)).stdout).toMatch(
    /hidden or parked: 1 account$/m,
  );
  expect((await runHere('projections', 'rebuild', '--all', '--dry-run', '--data', data)).stdout).toMatch(
    /^2 rows of accounts compared with the live ones, 0 went on meanwhile, 2 hidden or parked: 0 differences$/m,
  );
  const { setAside } = await runHereForJson('projections', 'status', '--data', data);
  expect(setAside).toEqual([{ accountId: 'acct_test', cause: 'parked', revision: expect.any(Number), why: REASON[1] }]);
  await first.stop();
  // While no gateway runs: its row is left until the next start, which reads it.
  await runHereForJson('projections', 'unpark', 'acct_test', '--data', data);
  expect((await runHereForJson('projections', 'status', '--data', data)).setAside).toEqual([
    { accountId: 'acct_test', cause: 'unparked', revision: expect.any(Number), why: WAITS },
  ]);
  expect((await doctor(join(data, 'gateway.json'))).of('accounts')).toMatchObject({
    state: 'warn',
    says: expect.stringContaining(`acct_test (unparked: ${WAITS})`),
    advice: expect.stringContaining('its next start does'),
  });
  expect((await runHere('account', 'show', 'acct_test', '--data', data)).stdout).toMatch(
    new RegExp(`set aside +unparked: ${WAITS}; it is read once the log answers`),
  );
  expect(await runHere('projections', 'unpark', 'acct_test', '--data', data)).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining(`acct_test is unparked already: ${WAITS}`),
  });
  await runHereForJson('projections', 'park', 'acct_test', ...REASON, '--data', data);

  const second = await startTestGateway({ data });
  expect(await answerTo(second)).toMatch(new RegExp(`^529 .*${WHY}`));
  expect(await runHereForJson('projections', 'rebuild', '--all', '--data', data)).toMatchObject({ differences: 0 });
  expect(await answerTo(second)).toMatch(/^529 /);
  const returned: string[] = [];
  second.gateway.process.projections.accounts.onReturned((id) => returned.push(id));
  await grant(data);
  expect(await runHereForJson('projections', 'unpark', 'acct_test', '--data', data)).toMatchObject({
    unparked: 'in the gateway',
  });
  expect([returned, balanceOf(second)]).toEqual([['acct_test'], 1_002_000_000n]);
  expect(await answerTo(second)).toBe('200');
  expect(await runHere('projections', 'unpark', 'acct_test', '--data', data)).toMatchObject({ exitCode: 3 });
  await second.gateway.process.projections.whenWritten();
  await second.stop();
  expect(await runHere('projections', 'diff', '--all', '--data', data)).toMatchObject({ exitCode: 0 });

  expect(await runHereForJson('projections', 'park', 'acct_test', ...REASON, '--data', data)).toMatchObject({
    parked: 'in the folder',
  });
  expect(await runHereForJson('projections', 'status', '--data', data)).toMatchObject({
    setAside: [{ cause: 'parked' }],
  });
});

it('an event that says what cannot be sets its account aside alone, and what waits is read once that is mended', async () => {
  const metered = await startTestGateway({ settings: { metrics: { serve: { port: 0 } } } });
  const { data } = metered;
  const other = accountId('acct_other');
  await runHereForJson('account', 'open', '--email', 'o@example.com', '--id', other, '--data', data);
  const { key } = (await runHereForJson('key', 'issue', other, '--data', data)) as { key: string };
  expect(await answerTo(metered)).toBe('200');
  await expect.poll(() => answerTo(metered, key)).toBe('200');
  const at = await grantTwice(metered);
  const said = `account-acct_test revision ${at} (CreditsGranted): it cannot follow what stands before it: ${TWICE}`;
  await expect.poll(() => answerTo(metered)).toMatch(/^529 /);
  expect(await answerTo(metered)).toContain(`the account is set aside: ${said}`);
  expect(await answerTo(metered, key)).toBe('200');
  expect((await call(metered.gateway.metricsUrl ?? '', '/metrics')).text).toMatch(/^gateway_accounts_set_aside 1$/m);
  await metered.gateway.process.projections.whenWritten();
  const status = async () => (await runHereForJson('projections', 'status', '--data', data)).setAside;
  expect(await status()).toEqual([{ accountId: 'acct_test', cause: 'unreadable', revision: at, why: said }]);
  for (const command of [
    ['account', 'show', 'acct_test'],
    ['credits', 'grant', 'acct_test', '--usd', '1'],
  ])
    expect(await runHere(...command, '--data', data)).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining(said),
    });
  const verified = await runHere('ledger', 'verify', '--all', '--data', data);
  expect([verified.exitCode, verified.stdout]).toEqual([5, expect.stringContaining('grant_first: granted twice')]);
  // Views that are made anew come to the same.
  expect(await runHereForJson('projections', 'rebuild', '--all', '--data', data)).toMatchObject({ differences: 0 });
  expect(await answerTo(metered)).toContain(said);
  expect(await runHere('projections', 'unpark', 'acct_test', '--data', data)).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining(said),
  });
  await metered.stop();

  const again = await startTestGateway({ data });
  expect(await answerTo(again)).toContain(said);
  expect(await answerTo(again, key)).toBe('200');
  mend(data, at);
  expect(await runHereForJson('projections', 'unpark', 'acct_test', '--data', data)).toMatchObject({
    unparked: 'in the gateway',
  });
  expect([await answerTo(again), balanceOf(again)]).toEqual(['200', 2_000_000_000n]);
  await again.gateway.process.projections.whenWritten();
  expect(await status()).toEqual([]);
  await again.stop();
});

it('an account that an event has set aside is parked as any other, also over a restart, and unparked still refused for that event', async () => {
  const first = await startTestGateway();
  const { data } = first;
  const status = async () => (await runHereForJson('projections', 'status', '--data', data)).setAside;
  const at = await grantTwice(first);
  const ofEvent = { accountId: 'acct_test', cause: 'unreadable', revision: at, why: expect.stringContaining(TWICE) };
  await expect.poll(() => answerTo(first)).toContain(TWICE);
  await runHereForJson('projections', 'park', 'acct_test', ...REASON, '--data', data);
  const expectParked = async (gateway: TestGateway): Promise<void> => {
    expect(await answerTo(gateway)).toMatch(new RegExp(`^529 .*the account is set aside: ${WHY}`));
    await gateway.gateway.process.projections.whenWritten();
    expect(await status()).toEqual([{ ...ofEvent, cause: 'parked', why: REASON[1] }]);
  };
  await expectParked(first);
  await first.stop();
  const second = await startTestGateway({ data });
  await expectParked(second);
  expect(await runHere('projections', 'unpark', 'acct_test', '--data', data)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining(
      `\`gateway projections status --data ${data}\` says whether an event of it sets it aside`,
    ),
  });
  expect(await answerTo(second)).toMatch(new RegExp(`^529 .*${TWICE}`));
  await second.gateway.process.projections.whenWritten();
  expect(await status()).toEqual([ofEvent]);
  expect(await runHere('projections', 'unpark', 'acct_test', '--data', data)).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining(TWICE),
  });
  await second.stop();
});

it('an account is parked and unparked, and what the folder knows is shown, while the log does not answer', async () => {
  const data = temporaryFolder();
  await runHereForJson('account', 'open', '--email', 'a@example.com', '--id', 'acct_a', '--data', data);
  await runHereForJson('projections', 'rebuild', '--all', '--data', data);
  const away = async (...args: readonly string[]) => {
    const openEventLog = () => Promise.reject(new EventLogError('unavailable', 'no answer for 10 s'));
    return runHereWith({ openEventLog }, 'projections', ...args, '--data', data);
  };
  expect(await away('park', 'acct_a', ...REASON)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining(
      `is parked in the folder; \`gateway projections unpark acct_a --data ${data}\` ends it`,
    ),
    stderr: 'warning: no answer for 10 s: whether there is such an account was not looked at\n',
  });
  const shown = await away('status');
  expect(shown).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/^warning: no answer .* is not known\n$/) });
  expect(shown.stdout).toMatch(/balance +\d+ +stopped +\d+ +- +- [\s\S]*acct_a +parked/);
  expect(await away('unpark', 'acct_a')).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(/^warning: no answer .* was not looked at\n$/),
  });
  expect((await away('status')).stdout).toContain('no account is set aside');
});

it('an account that is unparked while the gateway’s log is away stays refused until it answers, and is then read by itself', async () => {
  const log = new LogWithOutages();
  const gateway = await startTestGateway({ log });
  const { data } = gateway;
  const config = join(data, 'config.json');
  writeFileSync(
    config,
    JSON.stringify({ eventLog: { kind: 'eventstoredb', connectionString: 'esdb://127.0.0.1:2113' } }),
  );
  const away = async (...args: readonly string[]) => {
    const openEventLog = () => Promise.reject(log.fault);
    return runHereWith({ openEventLog }, 'projections', ...args, '--data', data, '--config', config);
  };
  expect((await away('park', 'acct_test', ...REASON)).stdout).toContain('is parked in the gateway');
  expect((await away('park', 'acct_other', ...REASON)).stdout).toContain('is parked in the gateway');
  await gateway.command({ type: 'SuspendAccount', reason: 'fraud' });
  await gateway.command({ type: 'ReinstateAccount', reason: 'no fraud' });
  await gateway.gateway.process.projections.whenWritten();
  await log.goAway();
  // The second one waits behind the first.
  for (const account of ['acct_test', 'acct_other'])
    expect(await away('unpark', account)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('is unparked in the gateway; it is refused until what has waited could be read'),
    });
  expect(readParked(data)).toEqual([]);
  const shown = async () => (await away('status')).stdout;
  expect(await shown()).toMatch(new RegExp(`acct_test +unparked +\\d+ +${WAITS}`));
  expect(await shown()).toMatch(new RegExp(`acct_other +unparked +\\d+ +${WAITS}`));
  expect(await answerTo(gateway)).toMatch(new RegExp(`^529 .*${WHY}`));
  log.comeBack();
  await expect.poll(() => answerTo(gateway)).toBe('200');
  await gateway.gateway.process.projections.whenWritten();
  expect(await shown()).toContain('no account is set aside');
});
