import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { accountBooks } from './audit/account-books.ts';
import { auditRequests } from './audit/audit-requests.ts';
import { auditMe, auditShown, auditViewRows, type MeSeen } from './audit/audit-views.ts';
import type { AccountBooks } from './audit/own-account.ts';
import { readUpstreamRecord } from './audit/upstream-record.ts';
import { type StartedProcess, stopInOrder } from './child-process.ts';
import type { CrashSite } from './crash-site.ts';
import type { ClientKey, SentRequest } from './post-planned.ts';
import { viewRows } from './view-rows.ts';

export interface RunToAudit {
  readonly site: CrashSite;
  /** The gateway that is still up. */
  readonly last: StartedProcess;
  readonly url: string;
  readonly sent: readonly SentRequest[];
  readonly killsMs: readonly number[];
  /** One key for each account. */
  readonly keys: readonly ClientKey[];
  readonly start: () => StartedProcess;
}

export interface RunAudit {
  /** Empty where everything is as it should be. */
  readonly faults: readonly string[];
  readonly kills: number;
  readonly sent: number;
  readonly seen: number;
  /** UsageRecorded by outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly debits: number;
  readonly debitedMicroUsd: bigint;
  /** How often each kind of trouble of the log has struck; empty for the embedded log. */
  readonly struck: Readonly<Record<string, number>>;
}

const SETTLE_MS_MAX = 120_000;
const POLL_MS = 50;

/** Waits until nothing is under way, stops the gateway in order, and compares everything with everything. */
export async function auditRun({ site, last, url, sent, killsMs, keys, start }: RunToAudit): Promise<RunAudit> {
  const faults: string[] = [];
  const seenByKeys = new Map<ClientKey, MeSeen>();
  for (const key of keys) seenByKeys.set(key, await meOnceSettled(url, key));
  await stopInOrder(last);
  const audited = await Promise.all(site.accountIds.map((accountId) => auditAccount(site, accountId)));
  const books = audited.map(({ own }) => own);
  faults.push(...audited.flatMap((one) => one.faults));
  for (const [key, me] of seenByKeys) {
    const own = books.find(({ accountId }) => accountId === key.accountId);
    if (own !== undefined) faults.push(...auditMe(own, key.keyId, me));
  }
  faults.push(...auditViewRows(join(site.data, 'views.db'), books));
  faults.push(...(await auditRebuild(site, start)));
  const usages = books.flatMap((own) => own.usages);
  const seen = readUpstreamRecord(site.recordPath);
  faults.push(...auditRequests({ sent, seen, usages, prices: site.catalog.prices, killsMs }));
  return {
    faults,
    kills: killsMs.length,
    sent: sent.length,
    seen: seen.length,
    outcomes: Object.fromEntries(
      [...Map.groupBy(usages, ({ outcome }) => outcome)].map(([outcome, same]) => [outcome, same.length]),
    ),
    debits: books.reduce((sum, own) => sum + own.debits.length, 0),
    struck: site.struck,
    debitedMicroUsd: books.reduce((sum, own) => sum + own.debited, 0n),
  };
}

async function auditAccount(site: CrashSite, accountId: string): Promise<{ own: AccountBooks; faults: string[] }> {
  const own = accountBooks(accountId, await site.accountEvents(accountId), site.catalog.prices);
  const shown = auditShown(own, await site.command('account', 'show', accountId));
  return { own, faults: [...own.faults.map((fault) => `${accountId}: ${fault}`), ...shown] };
}

/** What /me says once nothing is held any more; what it says at the end of the time where something still is. */
export async function meOnceSettled(url: string, { key }: ClientKey): Promise<MeSeen> {
  const untilMs = Date.now() + SETTLE_MS_MAX;
  for (;;) {
    const answer = await fetch(`${url}/me`, { headers: { 'x-api-key': key } });
    if (answer.status !== 200) throw new Error(`GET /me answered ${answer.status}`);
    const me = (await answer.json()) as MeSeen;
    if (me.held_credits === 0 || Date.now() > untilMs) return me;
    await delay(POLL_MS);
  }
}

/** Without its views' file the gateway must come to the same rows from the ledger alone. */
async function auditRebuild(site: CrashSite, start: () => StartedProcess): Promise<string[]> {
  const before = viewRows(site.data, { remove: true });
  const again = start();
  await again.firstLine;
  await stopInOrder(again);
  const after = viewRows(site.data, { remove: false });
  const known = new Set(before);
  const faults = after.filter((row) => !known.has(row)).map((row) => `views.db, only after a rebuild: ${row}`);
  if (before.length !== after.length)
    faults.push(`views.db has ${after.length} rows after a rebuild, ${before.length} before`);
  return faults;
}

/** Removes a run's folder. */
export const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });
