import { existsSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { lockFolder } from '../../ledger/journal/folder-lock.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { requestFiles, writeRequest } from '../../proxy/operator-requests/operator-request.ts';
import { inOwnProcess } from '../fixtures/gateway/own-process.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { killStarted, startProcess } from '../fixtures/processes/child-process.ts';
import { runHereForJson } from '../fixtures/processes/run-here.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { Kind } from '../written-before/kept-state.ts';
import { expectRight, traffic } from './billed-traffic.ts';
import { folderWithLedger } from './folder-with-ledger.ts';

const PRELOAD = fileURLToPath(new URL('kill-at-call-preload.ts', import.meta.url));
const inodeOf = (path: string): number => statSync(path).ino;

afterAll(killStarted);

/** A gateway that answers requests and is killed at an instant of its next switch. */
async function killedAt(kind: Kind, instant: string) {
  const folder = await folderWithLedger(kind);
  const begun = await startTestGateway(folder);
  await begun.stop();
  const gateway = await inOwnProcess(begun, { preload: PRELOAD, environment: { KILL_AT: instant } });
  const { answered, running } = traffic(gateway, { model: 'opal-medium', pauseMs: 20 });
  await expect.poll(() => answered.length).toBeGreaterThan(5);
  return { gateway, folder, files: viewFilesOf(folder.data), answered, running };
}

it.each<[Kind, instant: string, isOver: boolean]>([
  ['sqlite', 'before link views.previous.db.new', false],
  ['sqlite', 'after link views.previous.db.new', false],
  ['sqlite', 'after rename views.db', true],
  ['sqlite', 'after rename views.previous.db', true],
  ['eventstoredb', 'after link views.previous.db.new', false],
  ['eventstoredb', 'after rename views.db', true],
])(
  'on %s, a gateway with traffic and a command that are killed, %s of the switch to a rebuild, leave the one views live or the other, and the next start serves and bills right',
  async (kind, instant, isOver) => {
    const { gateway, folder, files, answered, running } = await killedAt(kind, instant);
    const rebuilding = ['projections', 'rebuild', '--all', '--config', gateway.config];
    const command = startProcess(['--import', PRELOAD, PROGRAM, ...rebuilding], {
      stderrFd: openSync(join(temporaryFolder(), 'stderr'), 'w'),
      environment: { KILL_AT: 'before rename operator-request-*.json' },
    });
    expect(await command.ended).toBe(null);
    const [live, rebuilt] = [inodeOf(files.live), inodeOf(files.rebuild)];
    // What it would have asked, and waits for until then.
    const lock = lockFolder(files.rebuildFolder);
    const asked = { type: 'switch-views', to: 'rebuild' } as const;
    writeRequest(requestFiles(folder.data, 'killed'), { id: 'killed', untilMs: Date.now() + 600_000, asked });
    expect(await gateway.program.ended).toBe(null);
    lock.release();
    await running;
    expect(inodeOf(files.live)).toBe(isOver ? rebuilt : live);
    await expectRight(folder, answered);
    expect([inodeOf(files.live), existsSync(`${files.previous}.new`)]).toEqual([isOver ? rebuilt : live, false]);
    expect(inodeOf(isOver ? files.previous : files.rebuild)).toBe(isOver ? live : rebuilt);
    const again = await runHereForJson(...rebuilding);
    expect(again).toMatchObject({ differences: 0, switched: 'in the gateway' });
  },
);

it.each<[Kind, instant: string, switched: string]>([
  ['sqlite', 'after link views.previous.db.new', 'in the folder'],
  ['sqlite', 'after rename views.db', 'in the gateway'],
  ['eventstoredb', 'after link views.previous.db.new', 'in the folder'],
])(
  'on %s, where a gateway with traffic is killed, %s, the command ends the switch, and the next start serves and bills right',
  async (kind, instant, switched) => {
    const { gateway, folder, files, answered, running } = await killedAt(kind, instant);
    const live = inodeOf(files.live);
    const done = await runHereForJson('projections', 'rebuild', '--all', '--config', gateway.config);
    expect(await gateway.program.ended).toBe(null);
    await running;
    expect([done.switched, inodeOf(files.previous)]).toEqual([switched, live]);
    expect([existsSync(files.rebuild), existsSync(`${files.previous}.new`)]).toEqual([false, false]);
    await expectRight(folder, answered);
  },
);
