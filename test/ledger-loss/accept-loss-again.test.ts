import { cpSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { decodeEvent } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { accountId, commandId, LEDGER_STREAM, ledgerId } from '../../contracts/ids.ts';
import { loadAccount } from '../../ledger/account/load-account.ts';
import { acceptLoss } from '../../ledger/identity/accept-loss.ts';
import { compareLedger } from '../../ledger/identity/compare-ledger.ts';
import { writeNote } from '../../ledger/identity/folder-note.ts';
import { findUnsettleable } from '../../ledger/identity/unsettleable.ts';
import type { Journal } from '../../ledger/journal/journal.ts';
import { openJournal } from '../../ledger/journal/open-journal.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { enterGeneration } from '../../projections/after-loss/enter-generation.ts';
import type { ToDoAgain } from '../../projections/after-loss/to-do-again.ts';
import { readFolder } from '../../projections/read-folder.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { readKept } from '../written-before/kept-state.ts';
import { LedgerSite } from './lost-ledgers.ts';

/** Where `gateway ledger accept-loss` is killed: what comes after it has not happened. */
class Killed extends Error {}
const killed = (): never => {
  throw new Killed();
};

/** A folder from before there were identities, whose ledger was put back to the first of its two days. */
async function siteWithLoss(): Promise<LedgerSite> {
  const { folder, computed } = readKept('76ed563', 'sqlite', 'whole');
  const site = new LedgerSite('sqlite', folder, computed);
  await site.up();
  onTestFinished(() => site.down());
  let catalogs = 0;
  await site.rollBack(({ type }) => type !== 'CatalogPublished' || ++catalogs < 2);
  return site;
}

interface KillAt {
  /** An append after so many that are done; the first is the loss itself. */
  readonly appends?: number;
  readonly settle?: (journal: Journal) => Journal['settle'];
}

/** What the command does, to the point at which it is killed. */
async function acceptUntil(site: LedgerSite, { appends = Number.POSITIVE_INFINITY, settle }: KillAt): Promise<void> {
  const log = await site.openLog();
  let left = appends;
  const append: EventLog['append'] = async (...call) => (left-- > 0 ? log.append(...call) : killed());
  const dying: EventLog = Object.assign(Object.create(log), { append, readStream: log.readStream.bind(log) });
  const { journal, recovered } = await openJournal({ directory: journalFolder(site.data) });
  try {
    const nowMs = Date.now();
    const folder = readFolder(site.data, recovered, nowMs);
    const comparison = await compareLedger(folder.all, { log, where: 'here', looks: 1 });
    if (comparison.type !== 'lost') throw new Error(`the ledger is ${comparison.type}`);
    const requests = await findUnsettleable(log, recovered, nowMs);
    const recording = { commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'), actor: 'test', recordedAt: NOW };
    const parts = { ...comparison, known: folder.identity, requests, reason: 'first', nowMs, recording };
    const identity = await acceptLoss(dying, parts);
    if (identity === null) throw new Error('somebody else has written');
    const given = { recovered, unsettleable: requests, identity, nowMs, actor: 'test' };
    const dyingJournal = { settle: settle?.(journal) ?? journal.settle.bind(journal) };
    await enterGeneration({ log: dying, dataFolder: site.data, journal: dyingJournal, ...given });
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  } finally {
    await journal.close();
    await log.close();
  }
}
const NOW = '2026-11-05T10:20:31.001Z';

/** The command itself, in this process. */
const acceptAgain = async (site: LedgerSite): Promise<Record<string, unknown>> =>
  JSON.parse(await saidBy(site, '--json'));

async function saidBy(site: LedgerSite, ...flags: string[]): Promise<string> {
  let said = '';
  const program = await gatewayProgram({
    openEventLog: () => site.openLog(),
    proveLedger: async () => ({ isWhole: true, error: null }),
    compareClock: async () => null,
    environment: {},
    user: 'operator',
    clock: Date.now,
    write: (text) => {
      said += text;
    },
    warn: () => undefined,
  });
  const args = [...flags, '--config', site.configPath, 'ledger', 'accept-loss', '--reason', 'again'];
  await program.parseAsync(args, { from: 'user' });
  return said;
}

const filesOf = (site: LedgerSite) => readdirSync(site.data).filter((name) => /generation-/.test(name));

/** The requests that were set aside, as often as they stand there. */
const setAside = (site: LedgerSite): string[] =>
  readFileSync(join(site.data, 'lost-requests.generation-2.ndjson'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).requestId);

async function headOf(site: LedgerSite) {
  const log = await site.openLog();
  const head = await log.headPosition();
  await log.close();
  return head;
}

async function stateOf(site: LedgerSite) {
  const log = await site.openLog();
  const events = await Array.fromAsync(log.readAll(), decodeEvent);
  const losses = await Array.fromAsync(log.readStream(LEDGER_STREAM), decodeEvent);
  await log.close();
  const refused = events.filter(({ type }) => type === 'ApiKeyRevoked' || type === 'AccountSuspended');
  const { generation, earlier } = site.note();
  return { refused: refused.map(({ type }) => type).sort(), losses: losses.length, generation, earlier };
}

it.each(['views.db', 'views.db.before-generation-2', 'refused.json'])(
  'that cannot read %s says so in one line and does nothing',
  async (name) => {
    const site = await siteWithLoss();
    const file = join(site.data, name);
    writeFileSync(file, 'nothing that can be read');
    const before = await headOf(site);
    const { exitCode, stderr } = await site.acceptLoss();
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 4, stderr: expect.stringMatching(/^gateway: [^\n]*\n$/) });
    expect(stderr).toContain(file);
    expect(await headOf(site)).toEqual(before);
  },
);

it('a backup that is found after the loss of all was accepted brings back nobody who was refused', async () => {
  const site = await siteWithLoss();
  const revoked = site.computed.keys.find(({ status }) => status === 401);
  const backup = `${site.ledgerFile}.backup`;
  cpSync(site.ledgerFile, backup);
  site.deleteLedger();
  expect(await acceptAgain(site)).toMatchObject({ generation: 2, revokedKeys: [], suspended: [] });
  await (await site.serve()).stop();
  site.deleteLedger();
  cpSync(backup, site.ledgerFile);
  await expect(site.start()).rejects.toThrow(/accept-loss/);
  const suspended = ['acct_team'];
  const accepted = await acceptAgain(site);
  expect(accepted).toMatchObject({ generation: 3, revokedKeys: [{ keyId: revoked?.keyId }], suspended });
  // What only the views of before both losses know of the day that the backup lacks.
  const told = { beforeGeneration: 2, catalog: { was: { version: 2 }, is: { version: 1 } } };
  expect(accepted).toMatchObject({ toDoAgain: { earlier: [told] } });
  const life = await site.serve();
  const me = await fetch(`${life.gateway.url}/me`, { headers: { 'x-api-key': revoked?.key ?? '' } });
  expect(me.status).toBe(401);
});

it('another folder of the fleet that goes over at its start refuses whom only it has kept as refused', async () => {
  const site = await siteWithLoss();
  const revoked = site.computed.keys.find(({ status }) => status === 401);
  const backup = `${site.ledgerFile}.backup`;
  cpSync(site.ledgerFile, backup);
  site.deleteLedger();
  await acceptAgain(site);
  const other = site.copyOfFolder();
  await other.up();
  onTestFinished(() => other.down());
  // Who accepts the next loss knows nothing of it.
  site.forget('refused.json', 'views.db.before-generation-2');
  site.deleteLedger();
  cpSync(backup, site.ledgerFile);
  expect(await acceptAgain(site)).toMatchObject({ generation: 3, revokedKeys: [], suspended: [] });
  cpSync(site.ledgerFile, other.ledgerFile);
  for (const end of ['-wal', '-shm']) rmSync(other.ledgerFile + end, { force: true });
  const life = await other.serve();
  const me = await fetch(`${life.gateway.url}/me`, { headers: { 'x-api-key': revoked?.key ?? '' } });
  expect(me.status).toBe(401);
});

describe('what is left to be done again', () => {
  it('stands in a file before anything is given up, and is found again by whoever has lost what was printed', async () => {
    const site = await siteWithLoss();
    const file = join(site.data, 'to-do-again.generation-2.json');
    mkdirSync(`${file}.new`);
    const log = await site.openLog();
    const before = await log.headPosition();
    await expect(acceptAgain(site)).rejects.toThrow(/cannot be written down, and nothing was done: EISDIR/);
    expect(await log.headPosition()).toBe(before);
    await log.close();
    expect(filesOf(site)).toEqual(['to-do-again.generation-2.json.new']);
    rmdirSync(`${file}.new`);
    const { toDoAgain, toDoAgainFile } = await acceptAgain(site);
    expect(toDoAgainFile).toBe(file);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ generation: 2, ...(toDoAgain as object) });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await expect(acceptAgain(site)).rejects.toThrow(
      `nothing is lost\nWhat the last loss has left to be done again is in ${file}`,
    );
  });
});

it('what is said of amounts is so once the gateway has settled its journal, and nothing of that is to be done again', async () => {
  const site = await siteWithLoss();
  const { toDoAgain } = (await acceptAgain(site)) as { toDoAgain: ToDoAgain };
  const life = await site.serve();
  await life.gateway.process.settlement.idle();
  const told = toDoAgain.accounts.filter(
    ({ balance, settlesByItself }) => balance !== null && settlesByItself !== null,
  );
  expect(told.map(({ settlesByItself }) => BigInt(settlesByItself?.amount ?? 0))).toContainEqual(
    expect.toSatisfy(Boolean),
  );
  for (const { accountId: id, balance } of told) {
    const { state } = await loadAccount(life.log, accountId(id));
    expect(state).toMatchObject({ balance: BigInt(balance?.is ?? 0) });
  }
});

it('a loss of which no event is known gives up none, and says so', async () => {
  const site = await siteWithLoss();
  site.forget('views.db', 'journal');
  writeNote(site.data, { ...NOTE, generation: 2 });
  const said = await saidBy(site);
  expect(said).toMatch(
    /^generation 3 of .* has begun\ngiven up: no event that is known; what is there is of an earlier gen/,
  );
  expect(said).not.toMatch(/given up:$/m);
  expect(said).toMatch(/^next: gateway serve/m);
});
const NOTE = { ledgerId: ledgerId('ledger_019a5b3c00007000800000000000000a'), newest: null, leases: {}, earlier: [] };

describe('accept-loss that was killed', () => {
  it.each<[string, KillAt]>([
    ['once the loss is written', { appends: 1 }],
    ['between two of those who stay refused', { appends: 2 }],
    ['with lost requests set aside, and the journal still holding them', { settle: () => killed }],
  ])('%s, can be run again', async (_when, killAt) => {
    const whole = await siteWithLoss();
    const { toDoAgain } = await acceptAgain(whole);
    expect(toDoAgain).toMatchObject({ catalog: { was: { version: 2 }, is: { version: 1 } } });
    const expected = await stateOf(whole);
    const site = await siteWithLoss();
    await acceptUntil(site, killAt);
    expect(site.note().generation).toBe(1);
    expect(await acceptAgain(site)).toMatchObject({ generation: 2, lost: null, toDoAgain });
    expect(await stateOf(site)).toEqual(expected);
    expect(setAside(site).sort()).toEqual(setAside(whole).sort());
    expect(filesOf(site)).toEqual(filesOf(whole));
    await site.serve();
  });

  it('with its views set aside and nothing noted, can be run again', async () => {
    const site = await siteWithLoss();
    const blocked = join(site.data, 'ledger-id.new');
    // The last step fails, and with it what would tell that it was done.
    const settle = (journal: Journal) => (ids: Parameters<Journal['settle']>[0]) => {
      journal.settle(ids);
      mkdirSync(blocked);
    };
    await expect(acceptUntil(site, { settle })).rejects.toThrow(/ledger-id\.new/);
    rmdirSync(blocked);
    expect(filesOf(site)).toContain('views.db.before-generation-2');
    // Nothing else in the folder knows any more that it is of the generation before.
    site.forget('journal');
    const again = { generation: 2, lost: null, viewsSetAside: null, lostRequests: [] };
    expect(await acceptAgain(site)).toMatchObject(again);
    expect(await stateOf(site)).toMatchObject({ generation: 2, losses: 2 });
    await site.serve();
  });

  it('is refused while a gateway runs on the folder, and says how that was found', async () => {
    const site = await siteWithLoss();
    const { journal } = await openJournal({ directory: journalFolder(site.data) });
    await expect(acceptAgain(site)).rejects.toThrow(/a gateway is running on .*journal\/lock\.db\): stop it, then run/);
    await journal.close();
  });
});
