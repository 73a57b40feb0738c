import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountStream, NO_STREAM } from '../../../contracts/ids.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { readAccountEvents } from '../../../ledger/account/load-account.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import type { StoredEvent } from '../../../ledger/audit/stored-event.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { ACCOUNT, openAccount } from '../../fixtures/ledger/example-account.ts';
import { StripeServer } from '../../fixtures/stripe/stripe-server.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { runSite, type SiteTask } from './stripe-site.ts';

const PROGRAM = fileURLToPath(new URL('stripe-main.ts', import.meta.url));

/** Stripe has done what it was asked for, and says so to nobody; with the end of a path behind it where that was the thing. */
export const ANSWERING = 'while Stripe answers';

export const LOOK: SiteTask = { type: 'look' };

export const toRun = (...words: readonly string[]): SiteTask => ({ type: 'run', provider: 'stripe', words });

export interface KilledSite {
  readonly server: StripeServer;
  /** What Stripe tells of a kind of event, as it did last. @throws Error where it tells of none */
  readonly told: (type: string) => SiteTask;
  /** In a process of its own, that has to be killed at the instant. */
  readonly killed: (instant: string, task: SiteTask) => Promise<void>;
  /** In this one, to its end. @returns what a message is answered with, or a command prints */
  readonly done: (task: SiteTask) => Promise<number | string | null>;
  /** Here and at Stripe all clocks are behind, or ahead of, the machine's from now on. */
  readonly move: (byMs: number) => void;
  /** The account with its events, in which the auditor finds nothing. */
  readonly read: () => Promise<{ readonly account: OpenAccount; readonly events: readonly AccountEvent[] }>;
}

/** Stripe, and a ledger of its own, since so long, with an account that has these events, or none. */
export async function killedSite(begun: readonly AccountEvent[] = [], sinceMs = 0): Promise<KilledSite> {
  const server = endedLater(await StripeServer.start());
  const data = temporaryFolder();
  const path = join(data, 'ledger.db');
  const log = await openSqliteEventLog({ path });
  let movedMs = -sinceMs;
  const clock = (): number => Date.now() + movedMs;
  const recording = recordingBy('test', clock());
  await identifyLedger(log, clock(), recording);
  if (begun.length > 0) await log.append(accountStream(ACCOUNT), NO_STREAM, encodeEvents(begun, recording));
  await log.close();
  server.nowMs = clock;
  return {
    server,
    told: (type) => {
      const event = server.events.findLast((one) => one.type === type);
      if (event === undefined) throw new Error(`Stripe tells of no ${type}`);
      return { type: 'hear', ...server.signed(event) };
    },
    killed: async (instant, task) => {
      const args = [PROGRAM, data, server.url, instant, JSON.stringify(task)];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
      const isAnswering = instant.startsWith(ANSWERING);
      const end = instant.slice(ANSWERING.length + 1);
      server.beforeAnswer = ({ path: asked }) => isAnswering && asked.endsWith(end) && child.kill('SIGKILL');
      const [, signal] = await once(child, 'close');
      server.beforeAnswer = null;
      expect(signal, `killed ${instant}`).toBe('SIGKILL');
    },
    done: (task) => runSite({ data, url: server.url, task, clock, at: () => undefined }),
    move: (byMs) => {
      movedMs = byMs;
    },
    read: async () => {
      const reading = await openSqliteEventLog({ path });
      const read = await Array.fromAsync(readAccountEvents(reading, ACCOUNT));
      await reading.close();
      const events = read.map(({ event }) => event);
      // When each was written down is what the auditor goes by.
      const recordedAt = read.map(({ recorded }) => String(JSON.parse(recorded.metadata).recordedAt));
      const asRecorded = (event: StoredEvent): StoredEvent => ({
        ...event,
        metadata: { ...event.metadata, recordedAt: recordedAt[event.revision] ?? '' },
      });
      expect(faultsOf(events, asRecorded)).toEqual([]);
      return { account: openAccount(events), events };
    },
  };
}

/** How often each of these stands there. */
export function countsOf(events: readonly AccountEvent[], types: readonly AccountEvent['type'][]): number[] {
  return types.map((type) => events.filter((event) => event.type === type).length);
}

/** What nobody has decided. */
export const openOf = (account: OpenAccount): string[] =>
  openAttempts(account.billing.payments).map(({ attemptId }) => attemptId);
