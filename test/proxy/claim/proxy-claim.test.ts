import { cpSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { decodeClaimMetadata, decodeEvent } from '../../../contracts/event-codec.ts';
import { proxyStream } from '../../../contracts/ids.ts';
import { type Claim, ProxyClaim } from '../../../proxy/claim/proxy-claim.ts';
import { TimePassed } from '../../../proxy/clock/time-passed.ts';
import { proxyIdOf } from '../../../proxy/proxy-id.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

let log = new MemoryEventLog();
let started: ProxyClaim[] = [];

afterEach(async () => {
  await Promise.all(started.map((claim) => claim.close()));
  await log.close();
  log = new MemoryEventLog();
  started = [];
  clock.nowMs = 0;
});

interface Started {
  readonly claim: ProxyClaim;
  readonly fencedBy: number[];
}

const clock = { nowMs: 0 };

/** A process that starts on a data folder; `folder` is what tells that folder from a copy. */
function start(dataFolder: string, folder = dataFolder, isOnly = false): Started {
  const fencedBy: number[] = [];
  const claim = new ProxyClaim({
    log,
    dataFolder,
    folder,
    isOnly,
    clock: () => clock.nowMs,
    passed: new TimePassed(
      () => clock.nowMs,
      () => performance.now(),
    ),
    logger: pino({ level: 'silent' }),
    onFenced: ({ epoch }) => fencedBy.push(epoch),
  });
  started.push(claim);
  return { claim, fencedBy };
}

async function claimed(dataFolder: string, folder = dataFolder, isOnly = false): Promise<Claim> {
  return start(dataFolder, folder, isOnly).claim.take();
}

function copyOf(folder: string): string {
  const copy = join(temporaryFolder(), 'copy');
  cpSync(folder, copy, { recursive: true });
  return copy;
}

describe('a process claims the name of its data folder', () => {
  it('for the first time, and owns what the folder has from before', async () => {
    const folder = temporaryFolder();
    const claim = await claimed(folder);
    expect(claim).toMatchObject({ proxy: proxyIdOf(folder, 0), epoch: 1, ownsFrom: 0 });
    const [event] = log.events.map(decodeEvent);
    expect(event).toMatchObject({ type: 'ProxyClaimed', data: { proxy: claim.proxy, epoch: 1 } });
  });

  it('and names the forms that it reads beyond those of before, where programs of before do not look', async () => {
    await claimed(temporaryFolder());
    const [recorded] = log.events;
    if (recorded === undefined) throw new Error('nothing was claimed');
    expect(decodeClaimMetadata(recorded)).toMatchObject({ reads: { FormsAdopted: 1 }, ended: false });
    expect(Object.keys(JSON.parse(recorded.data))).toEqual(['proxy', 'epoch', 'instance', 'claimedAt']);
    const { reads: _reads, ...before } = JSON.parse(recorded.metadata);
    expect(decodeClaimMetadata({ ...recorded, metadata: JSON.stringify(before) })).toMatchObject({ reads: {} });
  });

  it('and says when it has stopped in order, unless another has the name by then', async () => {
    const folder = temporaryFolder();
    const first = start(folder);
    await first.claim.take();
    await first.claim.sayEnded();
    expect(log.events.map((event) => decodeClaimMetadata(event).ended)).toEqual([false, true]);
    const second = start(folder);
    expect(await second.claim.take()).toMatchObject({ epoch: 2, ownsFrom: 0 });
    await first.claim.sayEnded();
    expect(log.events.map((event) => decodeClaimMetadata(event).ended)).toEqual([false, true, false]);
  });

  it('again in the same folder, and owns what the processes before it had', async () => {
    const folder = temporaryFolder();
    await claimed(folder);
    await claimed(folder);
    expect(await claimed(folder)).toMatchObject({ proxy: proxyIdOf(folder, 0), epoch: 3, ownsFrom: 0 });
  });

  it('of a copy: the original is fenced, and owned is only what comes now', async () => {
    const folder = temporaryFolder();
    const original = start(folder);
    const { proxy } = await original.claim.take();
    const copy = await claimed(copyOf(folder), 'copy');
    expect(copy).toMatchObject({ proxy, epoch: 2, ownsFrom: 2 });
    await expect.poll(() => original.fencedBy).toEqual([2]);
  });

  it('of the original, after its copy: it takes a new name, fences nobody, and owns what it had', async () => {
    const folder = temporaryFolder();
    const { proxy } = await claimed(folder);
    const copy = start(copyOf(folder), 'copy');
    await copy.claim.take();
    const again = await claimed(folder);
    expect(again).toMatchObject({ proxy: proxyIdOf(folder, 0), ownsFrom: 0 });
    expect(again.proxy).not.toBe(proxy);
    // Epochs of a folder only grow, so that a request's epoch says whose it was.
    expect(again.epoch).toBeGreaterThan(1);
    const name = proxyStream(proxy);
    expect(log.events.filter(({ stream }) => stream === name)).toHaveLength(2);
    expect(copy.fencedBy).toEqual([]);
  });

  it('of two copies at once: each has a name of its own', async () => {
    const folder = temporaryFolder();
    await claimed(folder);
    const [one, two] = await Promise.all([claimed(copyOf(folder), 'one'), claimed(copyOf(folder), 'two')]);
    expect(one.proxy).not.toBe(two.proxy);
    for (const { ownsFrom } of [one, two]) expect(ownsFrom).toBeGreaterThan(1);
  });

  it('of two copies of a folder from before there were claims: the second owns nothing', async () => {
    const folder = temporaryFolder();
    const name = proxyIdOf(folder, 0);
    const copy = copyOf(folder);
    expect(await claimed(folder)).toMatchObject({ proxy: name, ownsFrom: 0 });
    const second = await claimed(copy);
    expect(second.proxy).not.toBe(name);
    expect(second.ownsFrom).toBe(second.epoch);
  });

  it('of a backup that is older than the last claim: it takes a new name', async () => {
    const folder = temporaryFolder();
    const { proxy } = await claimed(folder);
    const backup = copyOf(folder);
    await claimed(folder);
    const restored = await claimed(backup, 'backup');
    expect(restored.proxy).not.toBe(proxy);
    expect(restored.ownsFrom).toBe(restored.epoch);
  });

  it('after the machine was started again: the name stays, what its leases have is left to the clock', async () => {
    const folder = temporaryFolder();
    const { proxy } = await claimed(folder, 'boot 1');
    expect(await claimed(folder, 'boot 2')).toMatchObject({ proxy, epoch: 2, ownsFrom: 2 });
    expect(await claimed(folder, 'boot 2')).toMatchObject({ proxy, epoch: 3, ownsFrom: 2 });
  });

  it('once, where the answer of the log is lost: the claim is known as its own', async () => {
    const folder = temporaryFolder();
    let isFirst = true;
    log.faults = () => {
      const type = isFirst ? 'lose' : 'none';
      isFirst = false;
      return { type };
    };
    const { proxy } = await claimed(folder);
    expect(proxy).toBe(proxyIdOf(folder, 0));
    expect(new Set(log.events.map(({ stream }) => stream))).toEqual(new Set([proxyStream(proxy)]));
  });

  it('not while the log is away, and as soon as it is back', async () => {
    log.faults = () => ({ type: 'refuse' });
    const { claim } = start(temporaryFolder());
    const taken = claim.take();
    await expect.poll(() => log.appends).toBeGreaterThan(1);
    expect(claim.current).toBeNull();
    log.faults = () => ({ type: 'none' });
    expect((await taken).epoch).toBeGreaterThan(0);
    expect(claim.current).not.toBeNull();
  });
});

describe('that a process has its name is known as of when the log was asked', () => {
  it('not as of when it had taken the claim', async () => {
    log.faults = () => {
      clock.nowMs += 1_000;
      return { type: 'none' };
    };
    const { claim } = start(temporaryFolder());
    await claim.take();
    expect(claim.seenAt.wallMs).toBe(0);
  });

  it('not as of when it had answered a later look', async () => {
    const { claim } = start(temporaryFolder());
    await claim.take();
    const seenMs: number[] = [];
    const readStream = log.readStream.bind(log);
    log.readStream = (...asked) => {
      seenMs.push(claim.seenAt.wallMs);
      clock.nowMs += 1_000;
      return readStream(...asked);
    };
    await expect.poll(() => seenMs.length).toBeGreaterThan(2);
    expect(seenMs.slice(0, 3)).toEqual([0, 0, 1_000]);
  });
});

describe('the claim of what may be the only proxy', () => {
  const only = (dataFolder: string, folder = dataFolder) => claimed(dataFolder, folder, true);

  it('takes the name over from the process of another folder, and back; whoever had it is fenced', async () => {
    const folder = temporaryFolder();
    const original = start(folder, folder, true);
    const { proxy, takenOverAtMs } = await original.claim.take();
    expect(takenOverAtMs).toBeNull();
    clock.nowMs = 5_000;
    const copy = start(copyOf(folder), 'copy', true);
    expect(await copy.claim.take()).toMatchObject({ proxy, epoch: 2, ownsFrom: 2, takenOverAtMs: 5_000 });
    await expect.poll(() => original.fencedBy).toEqual([2]);
    clock.nowMs = 9_000;
    expect(await only(folder)).toMatchObject({ proxy, epoch: 3, ownsFrom: 3, takenOverAtMs: 9_000 });
    await expect.poll(() => copy.fencedBy).toEqual([3]);
    expect(proxyIdOf(folder, 0)).toBe(proxy);
  });

  it('of two copies at once: both have the name in turn, and both have taken it over', async () => {
    const folder = temporaryFolder();
    const { proxy } = await only(folder);
    clock.nowMs = 1_000;
    const both = await Promise.all([only(copyOf(folder), 'one'), only(copyOf(folder), 'two')]);
    expect(both.map(({ epoch }) => epoch).toSorted()).toEqual([2, 3]);
    for (const claim of both) expect(claim).toMatchObject({ proxy, ownsFrom: claim.epoch, takenOverAtMs: 1_000 });
  });

  it('of a copy that is started again has the time of the first taking over', async () => {
    const folder = temporaryFolder();
    await only(folder);
    const copy = copyOf(folder);
    clock.nowMs = 5_000;
    await only(copy, 'copy');
    clock.nowMs = 6_000;
    expect(await only(copy, 'copy')).toMatchObject({ epoch: 3, takenOverAtMs: 5_000 });
  });

  it('counts from the answer of the log, where one before it was lost', async () => {
    const folder = temporaryFolder();
    await only(folder);
    const copy = copyOf(folder);
    clock.nowMs = 5_000;
    let isFirst = true;
    log.faults = () => {
      const type = isFirst ? 'lose' : 'none';
      isFirst = false;
      clock.nowMs += 1_000;
      return { type };
    };
    expect(await only(copy, 'copy')).toMatchObject({ epoch: 3, takenOverAtMs: 7_000 });
  });

  it('has taken over nothing where the machine of its folder was started again', async () => {
    const folder = temporaryFolder();
    await only(folder, 'boot-1:7:11');
    expect(await only(folder, 'boot-2:7:11')).toMatchObject({ epoch: 2, ownsFrom: 2, takenOverAtMs: null });
    expect(await only(copyOf(folder), 'boot-2:7:12')).toMatchObject({ epoch: 3, takenOverAtMs: 0 });
  });

  it('has taken over nothing where the process of the folder it was copied from had ended before, in order', async () => {
    const folder = temporaryFolder();
    const { claim } = start(folder, folder, true);
    await claim.take();
    const before = copyOf(folder);
    claim.ended();
    const moved = copyOf(folder);
    expect(await only(moved, 'moved')).toMatchObject({ epoch: 2, takenOverAtMs: null });
    clock.nowMs = 3_000;
    expect(await only(before, 'before')).toMatchObject({ epoch: 3, takenOverAtMs: 3_000 });
  });
});
