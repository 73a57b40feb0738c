import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { StoredLog } from '../eventstoredb/stored-log.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { editFile } from '../fixtures/ledger/edited-file.ts';
import { sealLog } from '../fixtures/ledger/seal-log.ts';
import { rowsOf, writeRows } from '../fixtures/ledger/sealed-rows.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { readKept } from '../written-before/kept-state.ts';

const EVENTS_A_SEAL = 20;

/** A real ledger of before there were seals, which the sealer has sealed since; what was kept elsewhere beside it. */
async function sealedLedger() {
  const data = join(readKept('76ed563', 'sqlite', 'ledger').folder, 'data');
  const file = join(data, 'ledger.db');
  const log = await openSqliteEventLog({ path: file });
  await sealLog(log, data, EVENTS_A_SEAL);
  await log.close();
  const outside = temporaryFolder();
  const [anchor, leaves] = [join(outside, 'seals.ndjson'), join(outside, 'leaves')];
  const seals = rowsOf(file).filter(({ type }) => type === 'LedgerSealed');
  writeFileSync(anchor, seals.map((row) => `{"type":"LedgerSealed","data":${row.data}}\n`).join(''));
  await runHere('ledger', 'verify', '--seals', '--keep-leaves', leaves, '--offline', file);
  return { data, file, anchor, leaves };
}

/** Who can write to the file makes the catalog's price of an input token a millionth dearer. */
function alterRateCard(file: string): void {
  const dearer = `UPDATE event SET data = replace(data, '"input":"3000000"', '"input":"3000001"')
    WHERE type = 'CatalogPublished' AND revision = 0`;
  expect(editFile(file, (database) => database.prepare(dearer).run().changes)).toBe(1);
}

const verify = (...args: readonly string[]) => runHere('ledger', 'verify', ...args);

describe("a rate card of the catalog that is altered in a real ledger's file", () => {
  it('is found by its hash, by the seal over it, and named by the leaf hashes that were kept', async () => {
    const { file, anchor, leaves } = await sealedLedger();
    expect(await verify('--seals', '--anchor', anchor, '--offline', file)).toMatchObject({ exitCode: 0 });
    alterRateCard(file);
    const audited = await verify('--offline', file);
    expect(audited.stdout).toMatch(/^catalog 0: the hash of rate card \S+ 1 is [0-9a-f]{64}, should be [0-9a-f]{64}$/m);
    const sealed = await verify('--seals', '--leaves', leaves, '--offline', file);
    expect(sealed).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('seal 0 (events 0 to 19): ') });
    expect(sealed.stdout).toMatch(
      /^event \d+ \(there is catalog revision 0, CatalogPublished \S+\): it is not as it was sealed$/m,
    );
  });

  it('shows by a seal from elsewhere also where the whole file is made anew and sealed with the real key', async () => {
    const { data, file, anchor } = await sealedLedger();
    const anew = temporaryFolder();
    const forged = join(anew, 'ledger.db');
    cpSync(join(data, 'seal-key'), join(anew, 'seal-key'));
    alterRateCard(file);
    writeRows(
      forged,
      rowsOf(file).filter(({ stream }) => stream !== 'seals'),
    );
    const log = await openSqliteEventLog({ path: forged });
    await sealLog(log, anew, EVENTS_A_SEAL);
    await log.close();
    const alone = await verify('--seals', '--offline', forged);
    expect(alone).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('consistent, not anchored') });
    const anchored = await verify('--seals', '--anchor', anchor, '--offline', forged);
    expect(anchored).toMatchObject({ exitCode: 5, stdout: expect.stringContaining('verdict   damaged') });
    expect(anchored.stderr).toMatch(
      /: seal 0 \(events 0 to 19\): the anchor is of 20 events, and the log has others in their place/,
    );
  });
});

it('what the sealer has sealed in an event store is consistent, proved, and one edited event is found', async () => {
  const { folder } = readKept('76ed563', 'eventstoredb', 'ledger');
  const [data, file] = [join(folder, 'data'), join(folder, 'events.ndjson')];
  const configuration = join(folder, 'gateway.json');
  const serve = async () => {
    const store = await startFakeEventStore({ log: new StoredLog({ file, now: Date.now }) });
    const eventLog = { kind: 'eventstoredb', connectionString: store.connectionString };
    writeFileSync(configuration, JSON.stringify({ data, eventLog }));
    let closing: Promise<void> | null = null;
    const close = async (): Promise<void> => {
      closing ??= store.stop().then(() => store.log.close());
      await closing;
    };
    return endedLater({ connectionString: store.connectionString, close });
  };
  const run = (...args: readonly string[]) => runHere('--config', configuration, 'ledger', ...args);
  const store = await serve();
  const { connectionString } = store;
  const log = await openEventStoreDbEventLog({ connectionString, waitForServer: true });
  await sealLog(log, data, EVENTS_A_SEAL);
  const ids: string[] = [];
  for await (const { id } of log.readAll({ limit: 3 * EVENTS_A_SEAL })) ids.push(id);
  await log.close();
  const whole = await run('verify', '--seals');
  expect(whole).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^seals {5}[5-9], [\s\S]*unsealed {2}0\n/),
  });
  const [keys, proof] = [join(folder, 'keys.json'), join(folder, 'proof.json')];
  writeFileSync(keys, (await run('keys', '--json')).stdout);
  writeFileSync(proof, (await run('prove', ids[30] ?? '', '--since', '1')).stdout);
  expect(await run('check-proof', proof, '--keys', keys)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('verdict  holds, not anchored'),
  });
  await store.close();
  const text = readFileSync(file, 'utf8');
  // What is stored is in base64 there.
  const edited = text.replace(/"([A-Za-z0-9+/=]{200,})"/, (stored, base64) => {
    const one = Buffer.from(base64, 'base64').toString();
    return stored.replace(base64, Buffer.from(one.replace(/\d(?=\D*$)/, 'x')).toString('base64'));
  });
  expect(edited).not.toBe(text);
  writeFileSync(file, edited);
  await serve();
  expect(await run('verify', '--seals')).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('seal 0 (') });
});
