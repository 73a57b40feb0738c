import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockFolder } from '../../ledger/journal/folder-lock.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { readFoldedThrough } from '../../projections/known-views.ts';
import { finishSwitch } from '../../projections/switched-file.ts';
import { markVerified } from '../../projections/verified-mark.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { isThere, readAnswer, requestFiles, writeRequest } from '../../proxy/operator-requests/operator-request.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { BALANCE_TABLE } from '../fixtures/ledger/balance-table.ts';
import { killStarted, startProcess } from '../fixtures/processes/child-process.ts';
import { runHereForJson } from '../fixtures/processes/run-here.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const PRELOAD = fileURLToPath(new URL('kill-at-call-preload.ts', import.meta.url));
const SWITCH = fileURLToPath(new URL('switch-files-main.ts', import.meta.url));
let whole = '';

beforeAll(async () => {
  const gateway = await startTestGateway();
  whole = gateway.data;
  await gateway.stop();
});
afterAll(killStarted);

/** A folder whose live views are wrong. */
function spoiled(): string {
  const data = temporaryFolder();
  cpSync(whole, data, { recursive: true });
  const database = new DatabaseSync(join(data, 'views.db'));
  database.exec(
    `UPDATE ${BALANCE_TABLE} SET state = json_set(state, '$.grants[0].remaining', '7', '$.balance', '7'), balance_micro_usd = '7'`,
  );
  database.close();
  return data;
}

/** And those of before it are right; neither have read the last event. */
async function spoiledSince(): Promise<string> {
  const data = spoiled();
  cpSync(join(whole, 'views.db'), viewFilesOf(data).previous);
  await runHereForJson('credits', 'grant', 'acct_test', '--usd', '1', '--data', data);
  return data;
}
const [WRONG, RIGHT] = [1_000_007n, 1_001_000_000n];

/** A Node program that is killed at a call of its own. */
const killedAt = (instant: string, ...args: string[]) => {
  const stderrFd = openSync(join(temporaryFolder(), 'stderr'), 'w');
  return startProcess(['--import', PRELOAD, ...args], { stderrFd, environment: { KILL_AT: instant } });
};

async function balanceServed(data: string): Promise<bigint | null> {
  const gateway = await startTestGateway({ data });
  const { state } = gateway.gateway.process.projections.accounts.read(gateway.accountId);
  await gateway.stop();
  return state.type === 'open' ? state.balance : null;
}

const balanceIn = (path: string): string => {
  const database = new DatabaseSync(path, { readOnly: true });
  const row = database.prepare(`SELECT balance_micro_usd AS balance FROM ${BALANCE_TABLE}`).get();
  database.close();
  return String(row?.balance);
};

describe('kill -9', () => {
  it.each([
    ['before link views.previous.db.new', '7'],
    ['after link views.previous.db.new', '7'],
    ['after rename views.db', '1000000000'],
    ['after rename views.previous.db', '1000000000'],
  ])(
    '%s of a switch, forth and back, leaves the one views live or the other, and both there',
    async (instant, forth) => {
      const isKilledTo = async (to: 'rebuild' | 'previous'): Promise<void> => {
        const data = spoiled();
        const files = viewFilesOf(data);
        mkdirSync(files.rebuildFolder);
        cpSync(join(whole, 'views.db'), files[to]);
        const { child } = killedAt(instant, SWITCH, data, to);
        expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
        finishSwitch(files);
        expect(balanceIn(files.live)).toBe(forth);
        const other = forth === '7' ? files[to] : files.previous;
        expect(balanceIn(other)).toBe(forth === '7' ? '1000000000' : '7');
        expect([files.live, other].map((file) => readFoldedThrough(file)?.feed)).toEqual(['log', 'log']);
        expect(existsSync(`${files.previous}.new`)).toBe(false);
      };
      await Promise.all([isKilledTo('rebuild'), isKilledTo('previous')]);
    },
  );

  it('of a command that has rebuilt leaves the live views alone, and what it has made is gone on with; of the gateway in a rollback: the command ends well, and the next start serves the views of before', async () => {
    const data = spoiled();
    // As while a gateway runs, which would be asked.
    const running = lockFolder(journalFolder(data));
    const asking = 'before rename operator-request-*.json';
    const command = killedAt(asking, PROGRAM, 'projections', 'rebuild', '--all', '--data', data);
    expect(await command.ended).toBe(null);
    const { files } = await runHereForJson('projections', 'status', '--data', data);
    expect(files).toMatchObject([{ state: 'live' }, { state: 'rebuilt, not switched' }]);
    // Killed before it has verified them, they are not what a start may take for whole.
    const { rebuild } = viewFilesOf(data);
    markVerified(rebuild, false);
    const unverified = await runHereForJson('projections', 'status', '--data', data);
    expect(unverified.files).toMatchObject([{}, { state: 'rebuild interrupted' }]);
    running.release();
    const again = await runHereForJson('projections', 'rebuild', '--all', '--data', data);
    expect(again).toMatchObject({ isResumed: true, events: 0, switched: 'in the folder' });
    const config = join(data, 'gateway.json');
    const gateway = killedAt('after rename views.db', PROGRAM, '--json', 'serve', '--config', config, '--data', data);
    await gateway.firstLine;
    expect(balanceIn(join(data, 'views.db'))).toBe('1000000000');
    const back = await runHereForJson('projections', 'rollback', '--data', data);
    expect(back).toMatchObject({ switched: 'in the gateway' });
    expect(await gateway.ended).toBe(null);
    expect(await balanceServed(data)).toBe(7n);
    expect(balanceIn(join(data, 'views.previous.db'))).toBe('1000000000');
  });

  it.each([
    ['before exec COMMIT', WRONG],
    ['before link views.previous.db.new', WRONG],
    ['before rename views.db', WRONG],
    ['after rename views.db', RIGHT],
    ['after rename views.previous.db', RIGHT],
  ])(
    '%s of a command that goes back where no gateway runs: the next start serves the one views or the other with all that has come, and the others are there to go to',
    async (instant, served) => {
      const data = await spoiledSince();
      expect(await killedAt(instant, PROGRAM, 'projections', 'rollback', '--data', data).ended).toBe(null);
      expect(await balanceServed(data)).toBe(served);
      const again = await runHereForJson('projections', 'rollback', '--data', data);
      expect(again).toMatchObject({ switched: 'in the folder' });
      expect(await balanceServed(data)).toBe(served === WRONG ? RIGHT : WRONG);
    },
  );

  it.each(['before exec COMMIT', 'before rename operator-request-*.json'])(
    '%s of a command that goes back beside a gateway changes nothing of what that serves, and it is done again',
    async (instant) => {
      const data = await spoiledSince();
      const { gateway, accountId, stop } = await startTestGateway({ data });
      const balance = () => gateway.process.projections.accounts.read(accountId).state;
      expect(await killedAt(instant, PROGRAM, 'projections', 'rollback', '--data', data).ended).toBe(null);
      expect(balance()).toMatchObject({ balance: WRONG });
      const again = await runHereForJson('projections', 'rollback', '--data', data);
      expect(again).toMatchObject({ switched: 'in the gateway' });
      expect(balance()).toMatchObject({ balance: RIGHT });
      await stop();
    },
  );

  it('of a command in the middle of its verification leaves the live views as they were, and nobody takes for verified what it has made', async () => {
    const data = spoiled();
    const { live, rebuild } = viewFilesOf(data);
    const before = readFileSync(live);
    const command = killedAt(
      'before read monthly_v*_revision',
      PROGRAM,
      'projections',
      'rebuild',
      '--all',
      '--data',
      data,
    );
    expect(await command.ended).toBe(null);
    expect(readFileSync(live)).toEqual(before);
    // All is folded by then.
    expect(balanceIn(rebuild)).toBe('1000000000');
    const { files } = await runHereForJson('projections', 'status', '--data', data);
    expect(files).toMatchObject([{ state: 'stopped' }, { state: 'rebuild interrupted', lag: { events: 0 } }]);
    expect(await balanceServed(data)).toBe(7n);
    const again = await runHereForJson('projections', 'rebuild', '--all', '--data', data);
    expect(again).toMatchObject({ isResumed: true, leftBefore: 'interrupted', switched: 'in the folder' });
    expect(balanceIn(live)).toBe('1000000000');
  });

  it('of a command that had the views switched leaves nothing to be done: no gateway begins it', async () => {
    const data = spoiled();
    const files = viewFilesOf(data);
    cpSync(join(whole, 'views.db'), files.previous);
    const live = statSync(files.live).ino;
    const gateway = await startTestGateway({ data });
    const asked = { type: 'switch-views', to: 'previous' } as const;
    const request = requestFiles(data, 'killed');
    writeRequest(request, { id: 'killed', untilMs: Date.now() + 600_000, asked });
    await expect.poll(() => isThere(request)).toBe(false);
    expect(readAnswer(request)).toBe(null);
    await gateway.stop();
    expect(statSync(files.live).ino).toBe(live);
  });
});
