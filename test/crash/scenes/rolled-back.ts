import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { killAtOnce, type StartedProcess, stopInOrder } from '../../fixtures/processes/child-process.ts';
import { accountBooks } from '../audit/account-books.ts';
import { auditMe } from '../audit/audit-views.ts';
import { auditRun, meOnceSettled } from '../audit-run.ts';
import { onStage, type SceneAudit, type SceneOptions, type Stage } from './scene.ts';

const REQUESTS = 40;
/** A gateway that is to refuse may take so long to say so. */
const REFUSES_MS_MAX = 120_000;
const LEDGER = 'ledger.db';

/**
 * A ledger from a backup, and none at all, beside views and a journal that know more: the start refuses and says what
 * is missing. With its newest file back, everything agrees. Then the loss is accepted for real, and the gateway serves
 * what is left.
 */
export function rolledBack(options: SceneOptions): Promise<SceneAudit> {
  return onStage(options, {}, async (stage) => {
    const { site, clients, watch, keys } = stage;
    const start = (): StartedProcess => stage.started(site.startGateway());
    const backup = join(options.folder, 'backup');
    const newest = join(options.folder, 'newest');

    await stopInOrder(await liveFor(stage, start, REQUESTS));
    copyLedger(site.data, backup);
    await killAtOnce(await liveFor(stage, start, 2 * REQUESTS));
    const killsMs = [Date.now()];
    copyLedger(site.data, newest);

    const faults: string[] = [];
    putBack(backup, site.data);
    faults.push(...(await auditRefusal(stage, start, 'a ledger from a backup')));
    removeLedger(site.data);
    faults.push(...(await auditRefusal(stage, start, 'a folder without its ledger')));
    removeLedger(site.data);
    putBack(newest, site.data);

    const last = start();
    const { url } = await last.firstLine;
    clients.useGateways([url]);
    await clients.untilSent(3 * REQUESTS);
    await clients.stop();
    await watch.stop();
    const { sent } = clients;
    const audit = await auditRun({ site, last, url, sent, killsMs, keys, start, limits: [], mayRefuse: () => false });
    faults.push(...audit.faults, ...watch.faults);

    putBack(backup, site.data);
    faults.push(...(await auditAccepted(stage, start)));
    return { faults, told: `${sent.length} requests, ${audit.debits} debits, ${watch.looks} looks at /me` };
  });
}

async function liveFor({ clients }: Stage, start: () => StartedProcess, requests: number): Promise<StartedProcess> {
  const life = start();
  const { url } = await life.firstLine;
  clients.useGateways([url]);
  await clients.untilSent(requests);
  clients.useGateways([]);
  return life;
}

/** It ends by itself, without ever being ready, and says on stderr that the ledger lacks something. */
async function auditRefusal({ site }: Stage, start: () => StartedProcess, what: string): Promise<string[]> {
  const before = readFileSync(site.stderrPath, 'utf8').length;
  const life = start();
  const isReady = life.firstLine.then(
    () => true,
    () => false,
  );
  const isServed = await Promise.race([isReady, delay(REFUSES_MS_MAX, true, { ref: false })]);
  if (isServed) {
    await killAtOnce(life);
    return [`${what} is served`];
  }
  const said = readFileSync(site.stderrPath, 'utf8').slice(before);
  const faults = (await life.ended) === 0 ? [`${what}: the refused start ends with code 0`] : [];
  if (!/accept-loss/.test(said)) faults.push(`${what}: the refusal does not say how to go on: ${said.slice(0, 500)}`);
  return faults;
}

/** After an operator has accepted the loss the gateway serves what the ledger has, and nothing of what it had lost. */
async function auditAccepted({ site, keys }: Stage, start: () => StartedProcess): Promise<string[]> {
  await site.command('ledger', 'accept-loss', '--reason', 'the disk was lost; restored from the backup');
  const acceptedAt = new Date().toISOString();
  const isOfLost = (startedAt: string): boolean => startedAt <= acceptedAt;
  const life = start();
  const { url } = await life.firstLine;
  const faults: string[] = [];
  for (const key of keys) {
    const me = await meOnceSettled(url, key);
    const books = accountBooks(key.accountId, await site.accountEvents(key.accountId), site.catalog.prices, {
      isOfLost,
    });
    faults.push(...books.faults.map((fault) => `after the loss: ${key.accountId}: ${fault}`));
    faults.push(...auditMe(books, key.keyId, me).map((fault) => `after the loss: ${fault}`));
  }
  await stopInOrder(life);
  return faults;
}

/** The ledger's file and what SQLite keeps beside it. */
const filesOf = (data: string): string[] => readdirSync(data).filter((name) => name.startsWith(LEDGER));

function copyLedger(data: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of filesOf(data)) cpSync(join(data, name), join(to, name));
}

function putBack(from: string, data: string): void {
  removeLedger(data);
  for (const name of filesOf(from)) cpSync(join(from, name), join(data, name));
}

function removeLedger(data: string): void {
  for (const name of filesOf(data)) rmSync(join(data, name));
}
