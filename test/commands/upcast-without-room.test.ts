import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNT_STATE_VERSION } from '../../ledger/account/account-state.ts';
import { readFoldedThrough, readUpcastFrom } from '../../projections/known-views.ts';
import { areOfThisProgram } from '../../projections/prepared-views.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, get, post } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { canMount } from '../fixtures/ledger/small-disk.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { doctor } from './doctored.ts';
import { balanceStatesOf, type OlderFolder, olderFolder, onSmallDisk, rebuildViews } from './older-folder.ts';

let first: OlderFolder;
beforeAll(async () => {
  first = await olderFolder();
});

/** For what SQLite puts beside files, and the ledger; less than views take. */
const SHORT = 160 * 1_024;

function onDisk() {
  const { disk, data, files } = onSmallDisk(first);
  const logLines: string[] = [];
  const serve = async () => {
    const gateway = endedLater(await startTestGateway({ data, logLines, rebuildViews: () => rebuildViews(data) }));
    return { ...gateway, key: first.key };
  };
  const statesOf = () => balanceStatesOf(data);
  const views = async () => (await doctor(join(data, 'gateway.json'))).of('views');
  return { disk, data, files, logLines, serve, statesOf, views };
}

const balanceOf = ({ gateway }: TestGateway) => {
  const { state } = gateway.process.projections.accounts.read(first.accountId);
  return state.type === 'open' ? state.balance : null;
};

describe.runIf(canMount)('a gateway whose views are of an earlier version, on a disk without room for its own', () => {
  it('serves from them as they are, start after start, writes nothing of them, and makes its own once there is room', async () => {
    const { disk, data, files, logLines, serve, statesOf, views } = onDisk();
    disk.leaveFree(SHORT);
    const balances: (bigint | null)[] = [];
    for (const _start of [1, 2]) {
      const [inode, through] = [statSync(files.live).ino, readFoldedThrough(files.live)];
      const gateway = await serve();
      const { projections, settlement } = gateway.gateway.process;
      // From their rows: nothing was folded from the beginning.
      expect(projections.restoredMarkMs).not.toBe(null);
      if (balances.length > 0) expect(balanceOf(gateway)).toBe(balances.at(-1));
      expect((await post(gateway, '/v1/messages', asking('svc-mock'))).status).toBe(200);
      await settlement.idle();
      balances.push(balanceOf(gateway));
      expect(projections.unwritten?.why).toContain('of an earlier version');
      const ready = await get(gateway, '/readyz');
      expect([ready.status, ready.body]).toMatchObject([
        200,
        { ok: true, degraded: expect.stringMatching(/^for \d+ s .*of an earlier version.*; their file is behind$/) },
      ]);
      expect(await statesOf()).toEqual([`serving version 6, ${ACCOUNT_STATE_VERSION} not made`]);
      expect(await views()).toMatchObject({ state: 'warn', says: expect.stringContaining('not made one of it') });
      await gateway.stop();
      expect([statSync(files.live).ino, readFoldedThrough(files.live)]).toEqual([inode, through]);
      expect([areOfThisProgram(files.live), existsSync(files.upcast), existsSync(files.previous)]).toEqual([
        false,
        false,
        false,
      ]);
    }
    const gateway = await serve();
    const { projections, settlement } = gateway.gateway.process;
    expect((await post(gateway, '/v1/messages', asking('svc-mock'))).status).toBe(200);
    await settlement.idle();
    const before = balanceOf(gateway);
    disk.clear();
    await expect.poll(() => areOfThisProgram(files.live)).toBe(true);
    await projections.whenWritten();
    expect(projections.unwritten).toBe(null);
    expect(areOfThisProgram(files.previous)).toBe(false);
    // And then they are rebuilt, as where a start has made them.
    await expect.poll(() => readUpcastFrom(files.live).size).toBe(0);
    await expect.poll(() => logLines.join()).toContain('folded from the log');
    expect(await statesOf()).toEqual(['live', 'kept for rollback']);
    expect(balanceOf(gateway)).toBe(before);
    expect((await post(gateway, '/v1/messages', asking('svc-mock'))).status).toBe(200);
    await gateway.stop();
    expect(await runHere('projections', 'diff', '--all', '--data', data)).toMatchObject({ exitCode: 0 });
  }, 120_000);
});
