import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { accountId, accountStream, grantId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { reachOf, SYSTEM } from '../../../contracts/permissions.ts';
import { catchUpAccount } from '../../../ledger/account/account-repository.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { executeOnRepository } from '../../../ledger/account/execute-command.ts';
import { LOCK_FILE } from '../../../ledger/journal/folder-lock.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { GatewayClaim } from '../../../proxy/claim/gateway-claim.ts';
import { TimePassed } from '../../../proxy/clock/time-passed.ts';
import { readConfiguration } from '../../../proxy/program/configuration/read-configuration.ts';
import { OPERATOR } from '../../fixtures/ledger/actors.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const ACCOUNT = accountId('acct_2');
/** It comes before the other in the views. */
const HIDDEN = accountId('acct_1');
/** Longer than the longest request of the default configuration, with all that may come before and after it. */
const LONGEST_MS = 3 * 3_600_000;

let log: MemoryEventLog;
const time = { nowMs: Date.parse('2026-11-22T10:00:00.000Z') };
const clock = (): number => time.nowMs;
const claims: GatewayClaim[] = [];
beforeEach(() => {
  log = new MemoryEventLog();
});
afterEach(async () => {
  await Promise.all(claims.splice(0).map((claim) => claim.close()));
  await log.close();
});

/** The claim of the only proxy that there may be, with its log elsewhere. */
async function claimed(data: string, accounts: AccountViews): Promise<GatewayClaim> {
  const file = join(data, 'gateway.json');
  const eventLog = { kind: 'eventstoredb', connectionString: 'esdb://127.0.0.1:1' };
  writeFileSync(file, JSON.stringify({ data, proxies: 'one', eventLog }));
  const claim = GatewayClaim.of({
    configuration: readConfiguration({ file, environment: {}, callsProviders: true }),
    log,
    projections: { accounts },
    clock,
    passed: new TimePassed(clock, clock),
    logger: pino({ level: 'silent' }),
    onFenced: () => undefined,
  });
  if (claim === null) throw new Error('its log is in no folder');
  claims.push(claim);
  await claim.take();
  return claim;
}

async function execute(accounts: AccountViews, command: AccountCommand, id = ACCOUNT): Promise<void> {
  const recording = recordingBy('test', time.nowMs);
  const actor = reachOf(command.type, 'operator') === null ? SYSTEM : OPERATOR;
  expect(await executeOnRepository(log, accounts, id, command, actor, recording)).toMatchObject({ type: 'done' });
}

it.each([
  ['though its views stand still', false],
  ['also where the log hides the events of another account', true],
])('the only proxy, on a copy, admits by what the older process has settled, %s', async (_title, isHiding) => {
  const folder = temporaryFolder();
  mkdirSync(journalFolder(folder));
  writeFileSync(join(journalFolder(folder), LOCK_FILE), '');
  const ofOlder = new AccountViews();
  await claimed(folder, ofOlder);
  const trial = { trial: microUsd(0n), trialGrantId: grantId('grant_trial') };
  const opening = { type: 'OpenAccount', kind: 'personal', email: 'test@example.com', ...trial } as const;
  const views = new AccountViews();
  for (const id of [HIDDEN, ACCOUNT]) {
    await execute(ofOlder, { ...opening, accountId: id, nowMs: time.nowMs }, id);
    await catchUpAccount(log, views, id);
  }
  const copy = join(temporaryFolder(), 'copy');
  cpSync(folder, copy, { recursive: true });
  if (isHiding) log.hidden.add(accountStream(HIDDEN));
  const claim = await claimed(copy, views);
  await execute(ofOlder, { type: 'SuspendAccount', reason: 'seen by the older process alone' });
  expect(views.read(ACCOUNT)).not.toEqual(ofOlder.read(ACCOUNT));
  expect(claim.doubt()).toMatch(/copied or moved/);
  time.nowMs += LONGEST_MS;
  await expect.poll(() => claim.doubt()).toBeNull();
  expect(views.read(ACCOUNT)).toEqual(ofOlder.read(ACCOUNT));
});
