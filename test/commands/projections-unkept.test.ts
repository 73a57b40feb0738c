import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ViewFiles, viewFilesOf } from '../../projections/view-files.ts';
import { asking, get, post } from '../fixtures/gateway/call.ts';
import { inOwnProcess } from '../fixtures/gateway/own-process.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { BALANCE_TABLE } from '../fixtures/ledger/balance-table.ts';
import { stopInOrder } from '../fixtures/processes/child-process.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const PRELOAD = fileURLToPath(new URL('fail-at-call-preload.ts', import.meta.url));
/** Those that were live can be given no name as the previous ones, nor the others the name that they had. */
const FAIL_AT = { FAIL_AT: 'rename views.previous.db,link views.db' };
const [WRONG, RIGHT] = [7, 1_000_000_000];
let whole: Pick<TestGateway, 'data' | 'key'>;

beforeAll(async () => {
  const gateway = await startTestGateway();
  await gateway.stop();
  whole = gateway;
});

/** A folder whose live views are wrong. */
function spoiled(): { readonly data: string; readonly key: string; readonly files: ViewFiles } {
  const data = temporaryFolder();
  cpSync(whole.data, data, { recursive: true });
  const files = viewFilesOf(data);
  const database = new DatabaseSync(files.live);
  database.exec(
    `UPDATE ${BALANCE_TABLE} SET state = json_set(state, '$.grants[0].remaining', '${WRONG}', '$.balance', '${WRONG}'), balance_micro_usd = '${WRONG}'`,
  );
  database.close();
  return { data, key: whole.key, files };
}

const balanceIn = (path: string): number => {
  const database = new DatabaseSync(path, { readOnly: true });
  const row = database.prepare(`SELECT balance_micro_usd AS balance FROM ${BALANCE_TABLE}`).get();
  database.close();
  return Number(row?.balance);
};
const unkeptOf = ({ previous }: ViewFiles): string => `${previous}.new`;
const projections = (data: string, ...args: string[]) => runHereForJson('projections', ...args, '--data', data);

describe('a switch whose views of before cannot be kept, and that cannot be taken back', () => {
  it('stands, and says where those are: status has them, and rollback goes back to them', async () => {
    const { data, files } = spoiled();
    const args = ['--import', PRELOAD, PROGRAM, '--json', 'projections', 'rebuild', '--all', '--data', data];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      env: { ...process.env, ...FAIL_AT },
    });
    expect([status, JSON.parse(stdout).switched], stderr).toEqual([0, 'in the folder']);
    expect(stderr).toMatch(
      /warning: the views that were live stand in \S+views\.previous\.db\.new, and could not be given their name: .*EIO.*EIO/,
    );
    expect([balanceIn(files.live), balanceIn(unkeptOf(files)), existsSync(files.previous)]).toEqual([
      RIGHT,
      WRONG,
      false,
    ]);
    expect(await projections(data, 'status')).toMatchObject({
      files: [{ state: 'stopped' }, { file: unkeptOf(files), state: 'kept for rollback' }],
    });
    await projections(data, 'rollback');
    expect([balanceIn(files.live), balanceIn(files.previous), existsSync(unkeptOf(files))]).toEqual([
      WRONG,
      RIGHT,
      false,
    ]);
  });

  it('in a gateway stands for the gateway, too, which goes on with the others; its next start keeps those of before', async () => {
    const { data, key, files } = spoiled();
    const served = await inOwnProcess({ data, key }, { preload: PRELOAD, environment: FAIL_AT });
    const credits = async () => ((await get(served, '/me')).body as { available_credits: number }).available_credits;
    expect(await credits()).toBe(WRONG);
    const rebuilt = await runHere('projections', 'rebuild', '--all', '--data', data);
    expect(rebuilt).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('switched in the gateway'),
      stderr: expect.stringContaining(`stand in ${unkeptOf(files)}`),
    });
    expect(served.logged()).toMatch(
      /views\.previous\.db .*EIO.*the views that were live before keep a name of their own/,
    );
    expect(await credits()).toBe(RIGHT);
    expect((await post(served, '/v1/messages', asking('svc-mock'))).status).toBe(200);
    await stopInOrder(served.program);
    expect([balanceIn(files.live), balanceIn(unkeptOf(files))]).toEqual([RIGHT, WRONG]);
    expect(await runHere('projections', 'diff', '--all', '--data', data)).toMatchObject({ exitCode: 0 });
    const again = await inOwnProcess({ data, key });
    expect([balanceIn(files.previous), existsSync(unkeptOf(files))]).toEqual([WRONG, false]);
    await stopInOrder(again.program);
  });

  it('and who would switch again has to see to those first; a start does without', async () => {
    const { data, key, files } = spoiled();
    cpSync(files.live, unkeptOf(files));
    mkdirSync(join(files.previous, 'in the way'), { recursive: true });
    for (const args of [['rebuild', '--all'], ['rollback']])
      expect(await runHere('projections', ...args, '--data', data)).toMatchObject({
        exitCode: 3,
        stderr: expect.stringMatching(/stand in \S+\.new, and cannot be given their name: E(ISDIR|NOTEMPTY)/),
      });
    expect(existsSync(unkeptOf(files))).toBe(true);
    const served = await inOwnProcess({ data, key });
    expect(served.logged()).toContain('the views that were live before keep a name of their own');
    await stopInOrder(served.program);
    rmSync(files.previous, { recursive: true });
    expect(await projections(data, 'rebuild', '--all')).toMatchObject({ switched: 'in the folder' });
    expect(existsSync(unkeptOf(files))).toBe(false);
  });
});
