import { cpSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { decodeEvent } from '../../contracts/event-codec.ts';
import { accountId, accountStream, LEDGER_STREAM } from '../../contracts/ids.ts';
import { viewRows } from '../crash/view-rows.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { runProgram } from '../fixtures/processes/run-program.ts';
import { readKept } from '../written-before/kept-state.ts';
import { type Keep, LedgerSite, type StartedGateway } from './lost-ledgers.ts';

const ADA = accountId('acct_ada');
const TIMEOUT_MS = 180_000;

/** The state that an earlier program left after `kill -9`: views, leases and requests in the journal. */
async function unsettled(kind: 'sqlite' | 'eventstoredb'): Promise<LedgerSite> {
  const { folder, computed } = readKept('76ed563', kind, 'whole');
  const site = new LedgerSite(kind, folder, computed);
  await site.up();
  onTestFinished(() => site.down());
  return site;
}

/** The same after a life of today's gateway, which has settled the journal and noted which ledger it is. */
async function lived(kind: 'sqlite' | 'eventstoredb'): Promise<LedgerSite> {
  const site = await unsettled(kind);
  await (await site.serve()).stop();
  return site;
}

async function rollBack(site: LedgerSite, keep: Keep): Promise<void> {
  await site.down();
  await site.rollBack(keep);
  await site.up();
}

const statusOf = async ({ gateway }: StartedGateway, key: string): Promise<number> =>
  (await fetch(`${gateway.url}/me`, { headers: { 'x-api-key': key } })).status;

async function newestLease(site: LedgerSite): Promise<number> {
  const log = await site.openLog();
  const ofAda = await Array.fromAsync(log.readStream(accountStream(ADA)));
  await log.close();
  return ofAda.findLast(({ type }) => type === 'CreditsLeased')?.revision ?? Number.NaN;
}

/** Everything but the second of the two days: its catalog, a key's revocation, a suspension, most of the usage. */
function firstDay(): Keep {
  let catalogs = 0;
  return ({ type }) => type !== 'CatalogPublished' || ++catalogs < 2;
}

describe.each(['sqlite', 'eventstoredb'] as const)('a ledger in %s', (kind) => {
  const where = kind === 'sqlite' ? 'ledger.db' : 'EventStoreDB';

  it('is identified once, and opened again', { timeout: TIMEOUT_MS }, async () => {
    const site = await lived(kind);
    const again = await site.serve();
    const events = await Array.fromAsync(again.log.readStream(LEDGER_STREAM), decodeEvent);
    expect(events).toMatchObject([{ type: 'LedgerIdentified', data: { generation: 1 } }]);
  });

  it('put back to before what the views know is refused, and says what is missing', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const site = await lived(kind);
    await rollBack(site, firstDay());
    site.forget('ledger-id', 'journal');
    const refused = site.start();
    await expect(refused).rejects.toThrow(/lacks events that it had/);
    await expect(refused).rejects.toThrow(where);
    await expect(refused).rejects.toThrow(
      /account-acct_ada: views\.db knows? revision \d+, the ledger ends at revision \d+/,
    );
    await expect(refused).rejects.toThrow(/accept-loss --reason/);
  });

  it('put back to before what the journal knows is refused', { timeout: TIMEOUT_MS }, async () => {
    const site = await unsettled(kind);
    await rollBack(site, firstDay());
    site.forget('views.db', 'proxy-id');
    await expect(site.start()).rejects.toThrow(/account-acct_ada: the journal knows revision 6\d, the ledger ends at/);
  });

  it('put back to before a lease that the folder knows is refused', { timeout: TIMEOUT_MS }, async () => {
    const site = await lived(kind);
    // As the gateway has noted it when it folded its leases.
    const leased = await newestLease(site);
    const note = { ...site.note(), newest: null };
    expect(note.leases).toMatchObject({ acct_ada: leased });
    await rollBack(site, firstDay());
    site.forget('views.db', 'journal');
    writeFileSync(join(site.data, 'ledger-id'), JSON.stringify(note));
    await expect(site.start()).rejects.toThrow(
      `account-acct_ada: ledger-id knows revision ${leased}, the ledger ends at revision`,
    );
  });

  it('that was deleted is refused, and nothing is written into the new one', { timeout: TIMEOUT_MS }, async () => {
    const site = await lived(kind);
    await site.down();
    site.deleteLedger();
    await site.up();
    await expect(site.start()).rejects.toThrow(/account-acct_ada: .*, nothing of it is there/);
    site.forget('views.db', 'journal');
    await expect(site.start()).rejects.toThrow(/lacks events that it had|has no identity/);
    const log = await site.openLog();
    expect(await log.headPosition()).toBeNull();
    await log.close();
  });

  it('of another installation is refused, also by accept-loss', { timeout: TIMEOUT_MS }, async () => {
    const [site, other] = [await lived(kind), await lived(kind)];
    await Promise.all([site.down(), other.down()]);
    cpSync(other.ledgerFile, site.ledgerFile);
    await site.up();
    await expect(site.start()).rejects.toThrow(
      /belongs to the ledger ledger_[0-9a-f]+, and the ledger .* it is another one/,
    );
    const { exitCode, stderr } = await site.acceptLoss();
    expect(stderr).toMatch(/it is another one/);
    expect(exitCode).toBe(3);
  });

  it('whose loss was accepted is served from: what was revoked stays revoked', { timeout: TIMEOUT_MS }, async () => {
    const site = await unsettled(kind);
    const [laptop] = site.computed.keys;
    const revoked = site.computed.keys.find(({ status }) => status === 401);
    if (laptop === undefined || revoked === undefined) throw new Error('the fixture has no such keys');
    await rollBack(site, firstDay());
    const refused = await runProgram('--config', site.configPath, 'serve', '--port', '0');
    expect(refused.exitCode).toBe(3);
    expect(refused.stderr).toMatch(
      /^gateway: the ledger \(.*\) lacks events that it had; nothing is served from it:\n/m,
    );
    expect(refused.stderr).not.toMatch(/\n {4}at /);

    const command = ['--config', site.configPath, '--json', 'ledger', 'accept-loss', '--reason', 'disk lost'];
    const accepted = await runHere(...command);
    expect(accepted).toMatchObject({ exitCode: 0, stderr: '' });
    const said = JSON.parse(accepted.stdout);
    expect(said).toMatchObject({
      generation: 2,
      reason: 'disk lost',
      revokedKeys: [{ accountId: ADA, keyId: revoked.keyId }],
      suspended: ['acct_team'],
    });
    // The prices of the day were lost, and with them the price of every request that was admitted at them.
    expect(said.lostRequests.length).toBeGreaterThan(0);
    expect(said.requestsSetAside).toMatch(/lost-requests/);

    const life = await site.serve();
    expect(await statusOf(life, revoked.key)).toBe(401);
    expect(await statusOf(life, laptop.key)).toBe(200);
    const [, loss] = await Array.fromAsync(life.log.readStream(LEDGER_STREAM), decodeEvent);
    expect(loss).toMatchObject({
      type: 'LossAccepted',
      data: { generation: 2, reason: 'disk lost', actor: 'operator' },
    });
    // Every request that the journal held is in the ledger, or is named as lost.
    const recorded = await usagesOf(life);
    const lost = said.lostRequests.map(({ requestId }: { requestId: string }) => requestId);
    for (const requestId of inJournal(site))
      expect([...recorded, ...lost].filter((one) => one === requestId)).toHaveLength(1);
    await life.stop();
    const rows = viewRows(site.data, { remove: true });
    await (await site.serve()).stop();
    expect(viewRows(site.data, { remove: false })).toEqual(rows);
    const again = await runHere(...command);
    expect(again).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('nothing is lost') });
  });

  it('whose loss was accepted settles what the journal holds', { timeout: TIMEOUT_MS }, async () => {
    const site = await unsettled(kind);
    // The last events are lost; the prices are not.
    const total = await countEvents(site);
    await rollBack(site, (_event, index) => index < total - 3);
    await expect(site.start()).rejects.toThrow(/lacks events that it had/);
    const accepted = await site.acceptLoss('--json');
    expect(accepted).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(accepted.stdout)).toMatchObject({ lostRequests: [], suspended: ['acct_team'] });
    const life = await site.serve();
    const recorded = await usagesOf(life);
    for (const requestId of inJournal(site)) expect(recorded.filter((one) => one === requestId)).toHaveLength(1);
  });

  it('is carried over to by another data folder, which knew more, when that is started again', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const site = await lived(kind);
    await rollBack(site, firstDay());
    const other = site.copyOfFolder();
    const accepted = await site.acceptLoss();
    expect(accepted).toMatchObject({ exitCode: 0, stderr: '' });
    await site.down();
    cpSync(site.ledgerFile, other.ledgerFile);
    await other.up();
    onTestFinished(() => other.down());
    await other.serve();
    expect(readdirSync(other.data).filter((name) => name.startsWith('views.db.before-generation-2'))).toHaveLength(1);
    expect(other.note()).toMatchObject({ generation: 2 });
  });
});

async function countEvents(site: LedgerSite): Promise<number> {
  const log = await site.openLog();
  const events = await Array.fromAsync(log.readAll());
  await log.close();
  return events.length;
}

async function usagesOf({ log, gateway }: StartedGateway): Promise<string[]> {
  await gateway.process.settlement.idle();
  const usages: string[] = [];
  for await (const recorded of log.readAll()) {
    const event = decodeEvent(recorded);
    if (event.type === 'UsageRecorded') usages.push(event.data.requestId);
  }
  return usages;
}

/** The requests that the journal held: those that the program of then has recorded from it. */
const inJournal = ({ computed }: LedgerSite): string[] =>
  Object.values(computed.added)
    .flat()
    .flatMap(({ type, data }) => (type === 'UsageRecorded' ? [(data as { requestId: string }).requestId] : []));
