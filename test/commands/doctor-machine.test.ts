import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { lockFolder } from '../../ledger/journal/folder-lock.ts';
import { JOURNAL_BOUNDS } from '../../ledger/journal/limits.ts';
import { journalFolder, RESERVE_FILE } from '../../ledger/journal/segment-folder.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { untilSealed } from '../fixtures/ledger/until-sealed.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { started } from '../ledger/seals/sealer-scene.ts';
import { doctor, FAULTS } from './doctored.ts';

const MIB = 1024 ** 2;
const PROGRAM = fileURLToPath(new URL('../../proxy/main.mjs', import.meta.url));

describe.runIf(canMount)('of the disk', () => {
  /** A data folder on a disk of its own. */
  function onDisk(mebibytes: number) {
    const disk = smallDisk(mebibytes * 1_024);
    const data = join(dirname(disk.folder), 'data');
    const config = join(temporaryFolder(), 'gateway.json');
    const settings = { data, listen: { port: 0 }, logLevel: 'silent', journal: { maxBytes: 64 * MIB } };
    writeFileSync(config, JSON.stringify(settings));
    return { disk, data, look: async () => (await doctor(config)).of('disk') };
  }

  it('that it has room for all that the journal may take is said of the folder that will have the data, too', async () => {
    const { disk, data, look } = onDisk(70);
    expect(await look()).toEqual({ check: 'disk', state: 'ok', says: `70 MiB are free at ${data}`, advice: null });
    disk.leaveFree(64 * MIB);
    expect(await look()).toMatchObject({ state: 'ok' });
    disk.leaveFree(63 * MIB);
    expect(await look()).toMatchObject({
      ...{ state: 'warn', says: expect.stringContaining('the journal may take 64 MiB while the log is away') },
      advice: 'make room, or lower journal.maxBytes',
    });
  });

  it('that requests are refused for want of room is not said where the journal has its reserve', async () => {
    const { disk, data, look } = onDisk(30);
    const { reserveBytes, reserveMarginBytes } = JOURNAL_BOUNDS;
    mkdirSync(journalFolder(data), { recursive: true });
    const reserve = join(journalFolder(data), RESERVE_FILE);
    disk.leaveFree(reserveBytes + 2 * reserveMarginBytes);
    writeFileSync(reserve, Buffer.alloc(reserveBytes));
    disk.leaveFree(reserveMarginBytes + MIB);
    expect(await look()).toMatchObject({ state: 'warn' });
    disk.leaveFree(reserveMarginBytes - MIB);
    expect(await look()).toMatchObject({
      ...{ state: 'fault', says: expect.stringMatching(/: requests are refused below 4 MiB$/), advice: 'make room' },
    });
    rmSync(reserve);
    expect(await look()).toMatchObject({ state: 'fault', says: expect.stringMatching(/refused below 12 MiB$/) });
  });
});

it('too few descriptors are a fault, by what this process may have', () => {
  const config = join(temporaryFolder(), 'gateway.json');
  writeFileSync(config, JSON.stringify({ data: join(temporaryFolder(), 'data'), listen: { port: 0 } }));
  const command = `ulimit -n 60 && exec '${process.execPath}' '${PROGRAM}' --config '${config}' --json doctor`;
  const { status, stdout } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
  const findings: { check: string }[] = JSON.parse(stdout);
  expect(findings.find(({ check }) => check === 'descriptors')).toMatchObject({
    ...{ state: 'fault', says: expect.stringMatching(/may have 60 file descriptors.*needs at least 64/) },
  });
  expect(status).toBe(FAULTS);
});

describe('of seals', () => {
  /** What is said of them, and when. */
  async function scene() {
    const program = endedLater(await programInProcess());
    const beginMs = program.clock();
    const said: string[] = [];
    Object.assign(program.context, { write: (text: string) => said.push(text) });
    const look = async (afterMs = 0) => {
      program.clock = () => beginMs + afterMs;
      said.length = 0;
      await program.run('--json', 'doctor').catch(() => undefined);
      const findings: { check: string }[] = JSON.parse(said.join(''));
      return findings.find(({ check }) => check === 'seals');
    };
    const open = () => program.run('account', 'open', '--email', 'a@example.com');
    return { data: dirname(program.file), look, open };
  }
  const HOUR_MS = 3_600_000;

  it('there is no key before the first start, which makes one', async () => {
    const { look } = await scene();
    expect(await look()).toMatchObject({ state: 'ok', says: 'no key yet: the first start makes one' });
  });

  it('what has none is nothing to be told of until one is due, and who makes it is a gateway', async () => {
    const { look, open } = await scene();
    await open();
    expect(await look()).toMatchObject({
      state: 'ok',
      says: expect.stringMatching(/^what was written since \d.* has no seal$/),
    });
    expect(await look(30_000)).toMatchObject({ state: 'ok' });
    expect(await look(HOUR_MS)).toMatchObject({ state: 'warn', advice: 'a gateway that runs seals it' });
    // By a clock that is behind the ledger's, nothing is late.
    expect(await look(-HOUR_MS)).toMatchObject({ state: 'ok' });
  });

  it('beside a gateway it is late when three times as long as one may wait', async () => {
    const { data, look, open } = await scene();
    await open();
    mkdirSync(journalFolder(data), { recursive: true });
    const lock = lockFolder(journalFolder(data));
    onTestFinished(() => lock.release());
    expect(await look(120_000)).toMatchObject({ state: 'ok' });
    expect(await look(600_000)).toMatchObject({
      ...{
        state: 'fault',
        says: expect.stringContaining('though one is due after'),
        advice: 'look at the log of the gateway',
      },
    });
  });

  it('what the newest one leaves to the next has none, though it stands before it', async () => {
    const { data, look, open } = await scene();
    await open();
    const log = endedLater(await openSqliteEventLog({ path: join(data, 'ledger.db') }));
    const { length } = await Array.fromAsync(log.readAll());
    const { sealer } = started(log, { dataFolder: data, events: length - 1 });
    await untilSealed(log, 1);
    await sealer.close();
    await log.close();
    const says = expect.stringContaining('has no seal');
    expect(await look()).toMatchObject({ state: 'ok', says });
    expect(await look(HOUR_MS)).toMatchObject({ state: 'warn', says });
  });

  it('all that is written may have one', async () => {
    const gateway = await startTestGateway({ settings: { seals: { events: 1, afterMs: 1 } } });
    const head = await gateway.log.headPosition();
    await untilSealed(gateway.log, 1, Number(head));
    await gateway.stop();
    const config = join(temporaryFolder(), 'gateway.json');
    writeFileSync(config, JSON.stringify({ data: gateway.data, listen: { port: 0 } }));
    expect((await doctor(config)).of('seals')).toMatchObject({ state: 'ok', says: 'everything is sealed' });
  });
});
