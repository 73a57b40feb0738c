import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BASE_FORMS } from '../../../contracts/event-forms.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { type LedgerId, NO_STREAM, revision, SEALS_STREAM } from '../../../contracts/ids.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { rotateSealKey } from '../../../ledger/seals/rotate-key.ts';
import { SealCopies } from '../../../ledger/seals/seal-copies.ts';
import { keyOfFolder } from '../../../ledger/seals/seal-keys.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { chainOf } from '../../fixtures/ledger/seal-chain.ts';
import { untilSealed } from '../../fixtures/ledger/until-sealed.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { ACCOUNT, NOW_MS, newLog, sizesOf, started, write } from './sealer-scene.ts';

describe('a sealer', () => {
  it('seals each full range in order, and leaves what is behind the last for its time', async () => {
    const log = await newLog();
    await write(log, 34);
    const { sealer } = started(log);
    await untilSealed(log, 3);
    const chain = await chainOf(log);
    expect(sizesOf(chain)).toEqual([10, 20, 30]);
    expect(chain.keys).toMatchObject([{ introducedBy: null, validFrom: '2026-11-23T10:00:00.000Z' }]);
    await sealer.close();
    expect(sealer.standing()).toMatchObject({ stopped: null, unsealed: 5, newest: { seal: 2 } });
  });

  it('seals what there is once it has waited, and then nothing more', async () => {
    const log = await newLog();
    const { sealer } = started(log, { afterMs: 1 });
    await untilSealed(log, 1);
    expect(sizesOf(await chainOf(log))).toEqual([1]);
    await write(log, 2);
    await untilSealed(log, 1, 3);
    await sealer.close();
    expect((await chainOf(log)).seals.at(-1)).toMatchObject({ treeSize: 3 });
  });

  it.each([
    { events: 8, sizes: [3, 8, 16] },
    { events: 32, sizes: [17, 48, 80] },
  ])(
    'goes on at multiples of up to 16 events behind a seal of any number of them: $sizes',
    async ({ events, sizes }) => {
      const log = await newLog();
      const [first = 0, , last = 0] = sizes;
      await write(log, last);
      const by = started(log, { events: first, mayWrite: () => log.events.length <= last + 1 });
      await untilSealed(log, 1);
      await by.sealer.close();
      started(log, { events, dataFolder: by.dataFolder });
      await untilSealed(log, 3);
      expect(sizesOf(await chainOf(log))).toEqual(sizes);
    },
  );

  it('writes nothing while nothing may be written for good, and reads no further than one seal takes', async () => {
    const log = await newLog();
    await write(log, 34);
    const asked = Promise.withResolvers<void>();
    const { sealer } = started(log, {
      mayWrite: () => {
        asked.resolve();
        return false;
      },
    });
    await asked.promise;
    await sealer.close();
    expect(sealer.standing()).toMatchObject({ stopped: null, unsealed: 10 });
    expect((await chainOf(log)).seals).toEqual([]);
  });

  it('is waited for by no append: those go on while its own stands still', async () => {
    const log = await newLog();
    const still = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    log.faults = (stream) => {
      if (stream !== SEALS_STREAM) return { type: 'none' };
      reached.resolve();
      return { type: 'stall', until: still.promise };
    };
    await write(log, 9);
    started(log);
    await reached.promise;
    await write(log, 20);
    expect((await chainOf(log)).seals).toEqual([]);
    still.resolve();
    await untilSealed(log, 3);
    expect(sizesOf(await chainOf(log))).toEqual([10, 20, 30]);
  });

  it('goes on where its append was lost, dropped or refused: no gap and no fork', async () => {
    const log = await newLog();
    const faults = ['lose', 'drop', 'refuse', 'lose'] as const;
    let at = 0;
    log.faults = (stream) => ({ type: stream === SEALS_STREAM ? (faults[at++] ?? 'none') : 'none' });
    const { sealer } = started(log, { afterMs: 1, events: 1_000 });
    for (let size = 1; size <= 13; size += 3) {
      await untilSealed(log, 1, size);
      if (size < 13) await write(log, 3);
    }
    await sealer.close();
    expect(at).toBeGreaterThan(faults.length);
    expect((await chainOf(log)).seals.at(-1)?.treeSize).toBe(13);
  });

  it('never forks with others on the same log, whatever they count by', async () => {
    const log = await newLog();
    const { key } = keyOfFolder(temporaryFolder());
    const sealers = [3, 7, 20].map((events) => started(log, { events, key: () => key }).sealer);
    await write(log, 60);
    await untilSealed(log, 5);
    await write(log, 60);
    await untilSealed(log, 15);
    await Promise.all(sealers.map((sealer) => sealer.close()));
    expect(sealers.map((sealer) => sealer.standing().stopped)).toEqual([null, null, null]);
    expect((await chainOf(log)).seals.length).toBeGreaterThanOrEqual(15);
  });

  it('stops, and says so, where a seal does not follow what is there', async () => {
    const log = await newLog();
    await write(log, 9);
    const first = started(log);
    await untilSealed(log, 1);
    await first.sealer.close();
    const at = log.events.findIndex(({ revision, stream }) => stream === ACCOUNT && revision === 4);
    const changed = log.events[at];
    if (changed !== undefined) log.events[at] = { ...changed, data: '{"reason":"another"}' };
    await write(log, 20);
    const { sealer, lines } = started(log);
    await expect.poll(() => sealer.standing().stopped).toMatch(/the events of seal 0 are not those/);
    expect(lines.join()).toContain('nothing more of the ledger is sealed');
    await sealer.close();
    expect(log.events.filter(({ type }) => type === 'LedgerSealed')).toHaveLength(1);
  });
});

describe('of an embedded ledger, which hashes where it reads, a sealer', () => {
  async function embedded() {
    const path = join(temporaryFolder(), 'ledger.db');
    const open = async () => endedLater(await openSqliteEventLog({ path }));
    const log = await open();
    await identifyLedger(log, NOW_MS, recordingBy('test', NOW_MS), BASE_FORMS);
    let at = NO_STREAM;
    const writeMore = async (count: number): Promise<void> => {
      const written = Array.from({ length: count }, () => {
        const { commandId } = recordingBy('test', NOW_MS);
        return { id: commandId as never, type: 'AccountSuspended', data: '{"reason":"Zoë"}', metadata: '{}' };
      });
      await log.append(ACCOUNT, at, written);
      at = revision(at + count);
    };
    return { log, open, writeMore };
  }

  it('seals ranges that are full, then what has waited, as any other does', async () => {
    const { log, writeMore } = await embedded();
    await writeMore(34);
    const { sealer, dataFolder } = started(log);
    await untilSealed(log, 3);
    await sealer.close();
    expect(sizesOf(await chainOf(log))).toEqual([10, 20, 30]);
    expect(sealer.standing()).toMatchObject({ stopped: null, newest: { seal: 2 } });
    await writeMore(1);
    started(log, { dataFolder, afterMs: 1, events: 1_000 });
    await untilSealed(log, 1, 36);
    expect((await chainOf(log)).seals.at(-1)).toMatchObject({ seal: 3, first: 30, count: 6 });
  });

  it('follows seals that end inside of what it has read, and never forks with others', async () => {
    const { log, open, writeMore } = await embedded();
    const { key } = keyOfFolder(temporaryFolder());
    const logs = [log, await open(), await open()];
    const sealers = logs.map((one, index) => started(one, { events: [3, 7, 20][index] ?? 0, key: () => key }).sealer);
    await writeMore(60);
    await untilSealed(log, 1, 50);
    await writeMore(60);
    await untilSealed(log, 1, 110);
    await Promise.all(sealers.map((sealer) => sealer.close()));
    expect(sealers.map((sealer) => sealer.standing().stopped)).toEqual([null, null, null]);
    await chainOf(log);
  });

  it('hashes in its own thread what was asked for before a seal of its own was made', async () => {
    const { log, writeMore } = await embedded();
    const asked = Promise.withResolvers<void>();
    const sealed = Promise.withResolvers<void>();
    let pages = 0;
    const slow: EventLog = {
      append: async (...call) => {
        await asked.promise;
        const result = await log.append(...call);
        sealed.resolve();
        return result;
      },
      readStream: log.readStream.bind(log),
      readAll: log.readAll.bind(log),
      subscribeAll: log.subscribeAll.bind(log),
      headPosition: log.headPosition.bind(log),
      close: log.close.bind(log),
      readLeaves: async (from) => {
        if (++pages === 2) await writeMore(12);
        const page = await log.readLeaves?.(from);
        if (page === undefined) throw new Error('the embedded log hashes');
        if (pages !== 2) return page;
        asked.resolve();
        await sealed.promise;
        // What answers of the append is before this.
        await log.headPosition();
        return page;
      },
    };
    const { sealer } = started(slow, { afterMs: 1, events: 30 });
    await untilSealed(log, 1, 13);
    await sealer.close();
    expect(sealer.standing().stopped).toBeNull();
    expect((await chainOf(log)).seals.at(-1)?.treeSize).toBe(13);
  });
});

describe('the key', () => {
  it('of a data folder can be read by its owner alone, and stays', () => {
    const folder = temporaryFolder();
    const { key, isNew } = keyOfFolder(folder);
    expect(isNew).toBe(true);
    expect(statSync(join(folder, 'seal-key')).mode & 0o777).toBe(0o600);
    expect(keyOfFolder(folder)).toMatchObject({ isNew: false, key: { keyId: key.keyId, publicKey: key.publicKey } });
  });

  it('that follows is vouched for by the one before, and taken up without a restart', async () => {
    const log = await newLog();
    const before = keyOfFolder(temporaryFolder()).key;
    const next = keyOfFolder(temporaryFolder()).key;
    let key = before;
    started(log, { key: () => key });
    await write(log, 9);
    await untilSealed(log, 1);
    const recording = recordingBy('operator', NOW_MS);
    expect(await rotateSealKey(log, { from: before, to: next, recording })).toMatchObject({ type: 'done' });
    key = next;
    await write(log, 10);
    await untilSealed(log, 2);
    const { seals, keys } = await chainOf(log);
    expect(seals.map(({ keyId }) => keyId)).toEqual([before.keyId, next.keyId]);
    expect(keys.map(({ introducedBy }) => introducedBy)).toEqual([null, before.keyId]);
    expect(await rotateSealKey(log, { from: before, to: next, recording })).toEqual({ type: 'done', events: [] });
    const stranger = keyOfFolder(temporaryFolder()).key;
    const another = keyOfFolder(temporaryFolder()).key;
    expect(await rotateSealKey(log, { from: stranger, to: another, recording })).toEqual({
      type: 'unknown key',
      keyId: stranger.keyId,
    });
  });

  it('that nobody has introduced signs nothing', async () => {
    const log = await newLog();
    await write(log, 9);
    const { sealer } = started(log);
    await untilSealed(log, 1);
    await sealer.close();
    await write(log, 10);
    const stranger = started(log);
    await expect
      .poll(() => stranger.sealer.standing().stopped)
      .toMatch(/none of them has introduced .*; where that is lost, `replace lost`$/);
    expect((await chainOf(log)).seals).toHaveLength(1);
  });
});

describe('a copy outside of the log', () => {
  const linesOf = (file: string): { revision: number; type: string; data: object }[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));

  it('has each seal once, goes on where it ended, and is only added to', async () => {
    const log = await newLog();
    await write(log, 24);
    const copyTo = join(temporaryFolder(), 'seals.ndjson');
    const first = started(log, { copyTo });
    await untilSealed(log, 2);
    await first.sealer.close();
    writeFileSync(copyTo, '{"stream":"se', { flag: 'a' });
    const cut = readFileSync(copyTo, 'utf8');
    await write(log, 10);
    const second = started(log, { copyTo, dataFolder: first.dataFolder });
    await untilSealed(log, 3);
    await second.sealer.close();
    expect(readFileSync(copyTo, 'utf8').startsWith(cut)).toBe(true);
    writeFileSync(copyTo, readFileSync(copyTo, 'utf8').replace('{"stream":"se\n', ''));
    const stored = log.events.filter(({ stream }) => stream === SEALS_STREAM);
    expect(linesOf(copyTo)).toEqual(
      stored.map(({ stream, revision: at, id, type, data, metadata }) => ({
        ...{ stream, revision: at, id, type },
        ...{ data: JSON.parse(data), metadata: JSON.parse(metadata) },
      })),
    );
  });

  it('that cannot be written is told, and ends no sealing', async () => {
    const log = await newLog();
    await write(log, 9);
    const { sealer, lines } = started(log, { copyTo: join(temporaryFolder(), 'missing', 'seals.ndjson') });
    await untilSealed(log, 1);
    await sealer.close();
    expect(lines.join()).toContain('seals could not be written outside of the ledger');
    expect(sealer.standing().stopped).toBeNull();
  });

  it('whose place does not answer is told, holds up no sealing, and ends with the sealer', async () => {
    const log = await newLog();
    await write(log, 9);
    const copyTo = join(temporaryFolder(), 'seals.ndjson');
    execFileSync('mkfifo', [copyTo]);
    // Full, so that whoever writes to it waits, as at a share whose server is away.
    const reader = openSync(copyTo, constants.O_RDWR | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(reader));
    expect(() => writeSync(reader, Buffer.alloc(1 << 20)) && writeSync(reader, 'x')).toThrow(/EAGAIN/);
    const { sealer, lines } = started(log, { copyTo, copyAnswersWithinMs: 300 });
    await untilSealed(log, 1);
    await expect.poll(() => sealer.standing().uncopied).toMatch(/has not answered within 0.3 s/);
    await write(log, 10);
    await untilSealed(log, 2);
    await sealer.close();
    expect(lines.join()).toContain('seals could not be written outside of the ledger');
  });

  it('that ends with what the log has not is told and left as it is: a log that was cut, or of another ledger', async () => {
    const copyTo = join(temporaryFolder(), 'seals.ndjson');
    const first = await newLog();
    await write(first, 29);
    const one = started(first, { copyTo });
    await untilSealed(first, 3);
    await one.sealer.close();
    const kept = readFileSync(copyTo, 'utf8');
    for (const count of [9, 49]) {
      const other = await newLog();
      await write(other, count);
      const { sealer } = started(other);
      await untilSealed(other, Math.ceil(count / 10));
      await sealer.close();
      const { ledgerId } = (await chainOf(other)).seals[0] as { ledgerId: LedgerId };
      const copies = new SealCopies({ log: other, to: copyTo, ledgerId, answersWithinMs: 60_000 });
      await expect(copies.add()).rejects.toThrow(/revision 3 of the stream seals, is not in this ledger/);
      expect(readFileSync(copyTo, 'utf8')).toBe(kept);
    }
  });
});
