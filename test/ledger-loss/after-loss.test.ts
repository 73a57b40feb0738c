import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type EventLog, EventLogError } from '../../contracts/event-log.ts';
import { accountId, accountStream, commandId } from '../../contracts/ids.ts';
import type { StoredEvent } from '../../ledger/audit/stored-event.ts';
import { acceptLoss } from '../../ledger/identity/accept-loss.ts';
import { readLedgerState } from '../../ledger/identity/ledger-state.ts';
import { accountBooks } from '../crash/audit/account-books.ts';
import type { ModelPrices } from '../crash/crash-catalog.ts';
import { readKept } from '../written-before/kept-state.ts';
import { type Keep, LedgerSite } from './lost-ledgers.ts';

const PROGRAM = fileURLToPath(new URL('../../proxy/main.mjs', import.meta.url));
const ACCOUNTS = ['acct_ada', 'acct_team', 'acct_debt'].map(accountId);
const NOW = '2026-11-05T10:20:31.001Z';

async function siteBefore(): Promise<LedgerSite> {
  const { folder, computed } = readKept('76ed563', 'sqlite', 'whole');
  const site = new LedgerSite('sqlite', folder, computed);
  await site.up();
  onTestFinished(() => site.down());
  return site;
}

/** Without the second of the two days. */
function firstDay(): Keep {
  let catalogs = 0;
  return ({ type }) => type !== 'CatalogPublished' || ++catalogs < 2;
}

/** What an operator does elsewhere: this ledger's next generation begins. */
async function acceptElsewhere(log: EventLog): Promise<void> {
  const state = await readLedgerState(log);
  const recording = { commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'), actor: 'test', recordedAt: NOW };
  const nothing = { known: null, lost: [], untold: 0, requests: [], reason: 'test', nowMs: Date.parse(NOW) };
  expect(await acceptLoss(log, { ...nothing, state, recording })).toMatchObject({ generation: 2 });
}

describe('a gateway that runs while a loss is accepted elsewhere', () => {
  it('ends with code 3 and says that the next generation has begun', async () => {
    const site = await siteBefore();
    const child: ChildProcess = spawn(
      process.execPath,
      [PROGRAM, '--json', '--config', site.configPath, 'serve', '--port', '0'],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    onTestFinished(() => void child.kill('SIGKILL'));
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new Error('the gateway has no pipes');
    const said = text(stderr);
    const ended = once(child, 'close');
    await Promise.race([once(stdout, 'data'), ended]);
    const log = await site.openLog();
    await acceptElsewhere(log);
    await log.close();
    expect((await ended)[0]).toBe(3);
    expect(await said).toMatch(/^gateway: a loss of the ledger \(.*\) was accepted: its generation 2 has begun/m);
    // Started again it serves from the new generation.
    await site.serve();
    expect(site.note()).toMatchObject({ generation: 2 });
  });
});

describe('a folder from before ledgers had an identity', () => {
  it('goes over to the generation that has begun since, though it knows more than that has', async () => {
    const site = await siteBefore();
    await site.rollBack(firstDay());
    const log = await site.openLog();
    await acceptElsewhere(log);
    await log.close();
    await site.serve();
    expect(site.note()).toMatchObject({ generation: 2 });
  });

  it("with a proxy's name in it and nothing else is taken as it is, with whatever ledger there is", async () => {
    const site = await siteBefore();
    await site.rollBack(firstDay());
    site.forget('views.db', 'journal');
    await site.serve();
    expect(site.note()).toMatchObject({ generation: 1 });
  });
});

describe('a log that is away at the start', () => {
  it('and has lost events when it comes back, ends the gateway, which says what is missing', async () => {
    const site = await siteBefore();
    await (await site.serve()).stop();
    await site.rollBack(firstDay());
    const log = await site.openLog();
    const before = await log.headPosition();
    let isAway = true;
    const away = (): void => {
      if (isAway) throw new EventLogError('unavailable', 'the log is away');
    };
    const leaving: EventLog = {
      append: async (...call) => {
        away();
        return log.append(...call);
      },
      async *readStream(...call) {
        away();
        yield* log.readStream(...call);
      },
      async *readAll(...call) {
        away();
        yield* log.readAll(...call);
      },
      subscribeAll: log.subscribeAll.bind(log),
      headPosition: async () => {
        away();
        return log.headPosition();
      },
      close: () => log.close(),
    };
    const life = await site.start({ log: leaving });
    const [{ key } = { key: '' }] = site.computed.keys;
    const me = await fetch(`${life.gateway.url}/me`, { headers: { 'x-api-key': key } });
    expect([200, 529]).toContain(me.status);
    isAway = false;
    const lost = await life.whenLost;
    expect(lost.message).toMatch(/lacks events that it had.*account-acct_ada: .* the ledger ends at revision \d+/s);
    const refused = await fetch(`${life.gateway.url}/readyz`);
    expect(refused.status).toBe(503);
    // Nothing was written into what is left.
    await life.stop();
    const again = await site.openLog();
    expect(await again.headPosition()).toBe(before);
    await again.close();
  });
});

describe('the generation after an accepted loss', () => {
  it('has books that the independent audit finds right, with what the journal held', async () => {
    const site = await siteBefore();
    await site.rollBack(firstDay());
    const accepted = await site.acceptLoss();
    expect(accepted).toMatchObject({ exitCode: 0, stderr: '' });
    // What was settled by the lost part's leases is of the time before.
    const acceptedAt = new Date().toISOString();
    const isOfLost = (startedAt: string): boolean => startedAt <= acceptedAt;
    const life = await site.serve();
    await life.gateway.process.settlement.idle();
    const prices = new Map(Object.entries(PRICES));
    let usages = 0;
    for (const account of ACCOUNTS) {
      const events = await Array.fromAsync(life.log.readStream(accountStream(account)), (event): StoredEvent => {
        const { revision, position, id, type } = event;
        return { revision, position, id, type, data: JSON.parse(event.data), metadata: JSON.parse(event.metadata) };
      });
      const books = accountBooks(account, events, prices, { isOfLost });
      expect(books.faults).toEqual([]);
      usages += books.usages.length;
    }
    expect(usages).toBeGreaterThan(0);
  });
});

const pricesOf = (input: bigint, output: bigint, hasFastLane = false): ModelPrices => ({
  ...{ input, output, cacheRead: input / 10n, cacheWrite5m: (input * 5n) / 4n, cacheWrite1h: input * 2n },
  ...{ hasFastLane, uses: new Map(), hasLongWindow: false, isCancelled: false },
});
/** Of the kept folder's catalog file. */
const PRICES: Readonly<Record<string, ModelPrices>> = {
  'opal-medium': pricesOf(3_000_000n, 15_000_000n),
  'opal-fast': pricesOf(1_000_020n, 5_000_007n, true),
  'granite-pro': pricesOf(1_250_000n, 10_000_000n),
};
