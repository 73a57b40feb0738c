import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type StartedProcess, stopInOrder } from '../fixtures/processes/child-process.ts';
import type { AccountBooks } from './audit/account-books.ts';
import { accountBooks } from './audit/account-books.ts';
import { auditLimitsSet } from './audit/audit-limits-set.ts';
import { auditRequests } from './audit/audit-requests.ts';
import { auditMe, auditShown, auditViewRows, type MeSeen } from './audit/audit-views.ts';
import { auditListed, openExceptionsOf } from './audit/listed-exceptions.ts';
import { readUpstreamRecord } from './audit/upstream-record.ts';
import type { CrashSite } from './crash-site.ts';
import type { LimitSet } from './move-limit.ts';
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
  /** Limits that operators have set while the run lasted. */
  readonly limits: readonly LimitSet[];
  /** Whether a refusal for want of money was to be expected. */
  readonly mayRefuse: (request: SentRequest) => boolean;
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
  /** Usage that came after its request had been recorded as `recovered`, and what is not ended of all exceptions. */
  readonly late: number;
  readonly openExceptions: number;
  /** How often each kind of trouble of the log has struck; empty for the embedded log. */
  readonly struck: Readonly<Record<string, number>>;
}

const SETTLE_MS_MAX = 120_000;
const POLL_MS = 50;

/** Waits until nothing is under way, stops the gateway in order, and compares everything with everything. */
export async function auditRun(run: RunToAudit): Promise<RunAudit> {
  const { site, last, url, sent, killsMs, keys, start, limits, mayRefuse } = run;
  const faults: string[] = [];
  const seenByKeys = new Map<ClientKey, MeSeen>();
  for (const key of keys) seenByKeys.set(key, await meOnceSettled(url, key));
  await stopInOrder(last);
  const audited = await Promise.all(site.accountIds.map((accountId) => auditAccount(site, accountId, limits)));
  const books = audited.map(({ own }) => own);
  faults.push(...audited.flatMap((one) => one.faults));
  for (const [key, me] of seenByKeys) {
    const own = books.find(({ accountId }) => accountId === key.accountId);
    if (own !== undefined) faults.push(...auditMe(own, key.keyId, me));
  }
  faults.push(...auditViewRows(join(site.data, 'views.db'), books));
  faults.push(...(await auditRebuild(site, start)));
  const usages = books.flatMap((own) => own.usages);
  const debits = books.flatMap((own) => own.debits);
  const late = books.flatMap((own) => own.late);
  const seen = readUpstreamRecord(site.recordPath);
  faults.push(...auditRequests({ sent, seen, usages, debits, late, prices: site.catalog.prices, killsMs, mayRefuse }));
  return {
    faults,
    kills: killsMs.length,
    sent: sent.length,
    seen: seen.length,
    outcomes: Object.fromEntries(
      [...Map.groupBy(usages, ({ outcome }) => outcome)].map(([outcome, same]) => [outcome, same.length]),
    ),
    late: late.length,
    openExceptions: books.flatMap(openExceptionsOf).length,
    debits: books.reduce((sum, own) => sum + own.debits.length, 0),
    struck: site.struck,
    debitedMicroUsd: books.reduce((sum, own) => sum + own.debited, 0n),
  };
}

async function auditAccount(
  site: CrashSite,
  accountId: string,
  limits: readonly LimitSet[],
): Promise<{ own: AccountBooks; faults: string[] }> {
  const events = await site.accountEvents(accountId);
  const own = accountBooks(accountId, events, site.catalog.prices);
  const faults = [...own.faults, ...auditLimitsSet(events, limits)].map((fault) => `${accountId}: ${fault}`);
  faults.push(...auditShown(own, await site.command('account', 'show', accountId)));
  faults.push(...auditListed(own, await site.command('exception', 'list', accountId)));
  return { own, faults };
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
