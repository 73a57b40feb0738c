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
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { Kind } from '../written-before/kept-state.ts';
import { copyOfFolder, type FolderWithLedger, folderWithLedger, KINDS } from './folder-with-ledger.ts';

const PRELOAD = fileURLToPath(new URL('kill-at-call-preload.ts', import.meta.url));
const SWITCH = fileURLToPath(new URL('switch-files-main.ts', import.meta.url));
const whole = { sqlite: '', eventstoredb: '' };

beforeAll(async () => {
  for (const kind of KINDS) {
    const gateway = await startTestGateway(await folderWithLedger(kind, afterAll));
    whole[kind] = gateway.data;
    await gateway.stop();
  }
});
afterAll(killStarted);

/** A folder whose live views are wrong. */
async function spoiled(kind: Kind = 'sqlite'): Promise<FolderWithLedger> {
  const folder = await copyOfFolder(kind, whole[kind]);
  const database = new DatabaseSync(viewFilesOf(folder.data).live);
  database.exec(
    `UPDATE ${BALANCE_TABLE} SET state = json_set(state, '$.grants[0].remaining', '7', '$.balance', '7'), balance_micro_usd = '7'`,
  );
  database.close();
  return folder;
}

const configOf = ({ data }: FolderWithLedger) => ['--config', join(data, 'gateway.json')];
const grant = (folder: FolderWithLedger) =>
  runHereForJson('credits', 'grant', 'acct_test', '--usd', '1', ...configOf(folder));

/** And those of before it are right; neither have read the last event. */
async function spoiledSince(kind: Kind = 'sqlite'): Promise<FolderWithLedger> {
  const folder = await spoiled(kind);
  cpSync(viewFilesOf(whole[kind]).live, viewFilesOf(folder.data).previous);
  await grant(folder);
  return folder;
}
const [WRONG, RIGHT] = [1_000_007n, 1_001_000_000n];

const VERIFICATION = 'before read monthly_v*_revision';
const FOLDED = { state: 'rebuild interrupted', lag: { events: 0 } };
const NOTHING_KEPT = { state: 'rebuild interrupted at its beginning', lag: null };

/** A Node program that is killed at a call of its own. */
const killedAt = (instant: string, ...args: string[]) => {
  const stderrFd = openSync(join(temporaryFolder(), 'stderr'), 'w');
  return startProcess(['--import', PRELOAD, ...args], { stderrFd, environment: { KILL_AT: instant } });
};

async function balanceServed(folder: FolderWithLedger): Promise<bigint | null> {
  const gateway = await startTestGateway(folder);
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
        const { data } = await spoiled();
        const files = viewFilesOf(data);
        mkdirSync(files.rebuildFolder);
        cpSync(viewFilesOf(whole.sqlite).live, files[to]);
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

  it.each(KINDS)(
    'on %s, of a command that has rebuilt leaves the live views alone, and what it has made is gone on with; of the gateway in a rollback: the command ends well, and the next start serves the views of before',
    async (kind) => {
      const folder = await spoiled(kind);
      const { data } = folder;
      const config = configOf(folder);
      // As while a gateway runs, which would be asked.
      const running = lockFolder(journalFolder(data));
      const asking = 'before rename operator-request-*.json';
      const command = killedAt(asking, PROGRAM, 'projections', 'rebuild', '--all', ...config);
      expect(await command.ended).toBe(null);
      const { files } = await runHereForJson('projections', 'status', ...config);
      // The name that was given back as the gateway ended may be behind what its views have.
      expect(files).toMatchObject([
        { state: expect.stringMatching(/^live$|^catching up$/) },
        { state: 'rebuilt, not switched' },
      ]);
      // Killed before it has verified them, they are not what a start may take for whole.
      const { rebuild } = viewFilesOf(data);
      markVerified(rebuild, false);
      const unverified = await runHereForJson('projections', 'status', ...config);
      expect(unverified.files).toMatchObject([{}, { state: 'rebuild interrupted' }]);
      running.release();
      const again = await runHereForJson('projections', 'rebuild', '--all', ...config);
      expect(again).toMatchObject({ isResumed: true, events: 0, switched: 'in the folder' });
      const gateway = killedAt('after rename views.db', PROGRAM, '--json', 'serve', ...config);
      await gateway.firstLine;
      expect(balanceIn(join(data, 'views.db'))).toBe('1000000000');
      const back = await runHereForJson('projections', 'rollback', ...config);
      expect(back).toMatchObject({ switched: 'in the gateway' });
      expect(await gateway.ended).toBe(null);
      expect(await balanceServed(folder)).toBe(7n);
      expect(balanceIn(join(data, 'views.previous.db'))).toBe('1000000000');
    },
  );

  it.each<[Kind, instant: string, served: bigint]>([
    ['sqlite', 'before exec COMMIT', WRONG],
    ['sqlite', 'before link views.previous.db.new', WRONG],
    ['sqlite', 'before rename views.db', WRONG],
    ['sqlite', 'after rename views.db', RIGHT],
    ['sqlite', 'after rename views.previous.db', RIGHT],
    ['eventstoredb', 'before exec COMMIT', WRONG],
    ['eventstoredb', 'after rename views.db', RIGHT],
  ])(
    'on %s, %s of a command that goes back where no gateway runs: the next start serves the one views or the other with all that has come, and the others are there to go to',
    async (kind, instant, served) => {
      const folder = await spoiledSince(kind);
      const rollback = ['projections', 'rollback', ...configOf(folder)];
      expect(await killedAt(instant, PROGRAM, ...rollback).ended).toBe(null);
      expect(await balanceServed(folder)).toBe(served);
      expect(await runHereForJson(...rollback)).toMatchObject({ switched: 'in the folder' });
      expect(await balanceServed(folder)).toBe(served === WRONG ? RIGHT : WRONG);
    },
  );

  it.each(['before exec COMMIT', 'before rename operator-request-*.json'])(
    '%s of a command that goes back beside a gateway changes nothing of what that serves, and it is done again',
    async (instant) => {
      const { data } = await spoiledSince();
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

  // Of the events since two are of the gateway between: it claims its name where others write to the log, and gives it back.
  it.each<[Kind, when: string, instant: string, left: object, resumed: object]>([
    ['sqlite', 'in the middle of its verification', VERIFICATION, FOLDED, { isResumed: true, events: 1 }],
    ['eventstoredb', 'in the middle of its verification', VERIFICATION, FOLDED, { isResumed: true, events: 3 }],
    ['eventstoredb', 'before what it has folded is kept', 'before exec COMMIT', NOTHING_KEPT, { isResumed: false }],
  ])(
    'on %s, of a command %s leaves the live views as they were, and nobody takes for verified what it has made',
    async (kind, _when, instant, left, resumed) => {
      const folder = await spoiled(kind);
      const { live } = viewFilesOf(folder.data);
      const before = readFileSync(live);
      const rebuild = ['projections', 'rebuild', '--all', ...configOf(folder)];
      expect(await killedAt(instant, PROGRAM, ...rebuild).ended).toBe(null);
      expect(readFileSync(live)).toEqual(before);
      const { files } = await runHereForJson('projections', 'status', ...configOf(folder));
      expect(files).toMatchObject([{ state: 'stopped' }, left]);
      expect(await balanceServed(folder)).toBe(7n);
      await grant(folder);
      const again = await runHereForJson(...rebuild);
      expect(again).toMatchObject({ ...resumed, switched: 'in the folder' });
      expect(await balanceServed(folder)).toBe(RIGHT);
      expect(await runHere('projections', 'diff', '--all', ...configOf(folder))).toMatchObject({ exitCode: 0 });
    },
  );

  it('of a command that had the views switched leaves nothing to be done: no gateway begins it', async () => {
    const { data } = await spoiled();
    const files = viewFilesOf(data);
    cpSync(viewFilesOf(whole.sqlite).live, files.previous);
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
