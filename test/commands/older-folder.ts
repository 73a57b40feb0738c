import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { viewFilesOf } from '../../projections/view-files.ts';
import { asking, post } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { toVersion6 } from '../fixtures/ledger/older-views.ts';
import { smallDisk } from '../fixtures/ledger/small-disk.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import type { Kind } from '../written-before/kept-state.ts';
import { folderWithLedger } from './folder-with-ledger.ts';

/** A folder, and who asks its gateway. */
export type OlderFolder = Pick<TestGateway, 'data' | 'accountId' | 'key'>;

/** A folder that a program has left whose balance view was of version 6; one request has been answered. */
export async function olderFolder(kind: Kind = 'sqlite'): Promise<OlderFolder> {
  const gateway = await startTestGateway(await folderWithLedger(kind, afterAll));
  expect((await post(gateway, '/v1/messages', asking('svc-mock'))).status).toBe(200);
  await gateway.gateway.process.settlement.idle();
  await gateway.stop();
  toVersion6(viewFilesOf(gateway.data).live);
  return gateway;
}

/** A copy of it on a disk of 64 MiB of its own. */
export function onSmallDisk({ data: whole }: OlderFolder) {
  const disk = smallDisk(64 * 1_024);
  const data = dirname(disk.folder);
  cpSync(whole, data, { recursive: true });
  return { disk, data, files: viewFilesOf(data) };
}

const configOf = (data: string) => ['--config', join(data, 'gateway.json'), '--data', data];

/** What a gateway's own process for it does. @throws Error with what it says */
export async function rebuildViews(data: string): Promise<string> {
  const { exitCode, stdout, stderr } = await runHere('projections', 'rebuild', '--all', ...configOf(data));
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}

/** Of the balance view, in each file that there is. */
export async function balanceStatesOf(data: string) {
  const { files } = await runHereForJson('projections', 'status', ...configOf(data));
  return (files as { views: { name: string; state: string }[] }[]).map(
    ({ views }) => views.find(({ name }) => name === 'balance')?.state,
  );
}
