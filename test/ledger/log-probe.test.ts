import { expect, onTestFinished, test } from 'vitest';
import { EventLogError } from '../../contracts/event-log.ts';
import { NO_STREAM, type StreamName } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { probe as probeEvent } from '../../ledger/append-probe.ts';
import { LogBreaker } from '../../ledger/log-breaker.ts';
import { LogProbe } from '../../ledger/log-probe.ts';
import { toldLog } from '../../ledger/told-log.ts';
import { heldMs, heldPause, passWaits } from '../fixtures/ledger/held-pauses.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';

const AWAY = new Error('no answer');

function scene() {
  const log = new MemoryEventLog();
  const breaker = new LogBreaker({ clock: () => 7, timing: { later: () => undefined } });
  const probe = new LogProbe({ log: toldLog(log, breaker), breaker, timing: { pause: heldPause } });
  onTestFinished(() => probe.close());
  const asked = async (appends: number): Promise<void> => {
    passWaits(LIMITS.settlementProbeMs);
    await expect.poll(() => [log.appends, log.underWay]).toEqual([appends, 0]);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { log, breaker, probe, asked };
}

test('a log that is away is asked every so often, in vain, until it answers; nothing is written', async () => {
  const { log, breaker, asked } = scene();
  expect(heldMs()).toEqual([]);
  log.faults = () => ({ type: 'refuse' });
  breaker.failed(AWAY);
  for (const appends of [1, 2, 3]) {
    expect(heldMs()).toEqual([LIMITS.settlementProbeMs]);
    await asked(appends);
    expect(breaker.isOpen).toBe(true);
  }
  log.faults = () => ({ type: 'none' });
  await asked(4);
  expect([breaker.isOpen, heldMs(), log.events]).toEqual([false, [], []]);
  breaker.failed(AWAY);
  expect(heldMs()).toHaveLength(1);
});

test('one that can be read again is asked at once', async () => {
  const { log, breaker } = scene();
  breaker.failed(AWAY);
  breaker.readsLost();
  breaker.readsBack();
  await expect.poll(() => breaker.isAway).toBe(false);
  expect(log.appends).toBe(1);
});

test('nobody asks while somebody waits, and it is asked once nobody does', async () => {
  const { breaker, asked } = scene();
  const who = {};
  breaker.failed(AWAY);
  breaker.waits(who);
  await asked(0);
  breaker.waitsNoMore(who);
  await asked(1);
  expect(breaker.isOpen).toBe(false);
});

test('where a read was in vain it is asked every so often whether it can be read, until it can', async () => {
  const log = new LogWithOutages();
  const breaker = new LogBreaker({ clock: () => 7, timing: { later: () => undefined } });
  const probe = new LogProbe({ log, breaker, timing: { pause: heldPause } });
  onTestFinished(() => probe.close());
  const told = toldLog(log, breaker, () => probe.readFailed());
  const reads = [
    () => Array.fromAsync(told.readAll()),
    () => Array.fromAsync(told.readStream('catalog' as StreamName)),
    () => told.headPosition(),
  ];
  for (const read of reads) {
    await log.goAway();
    await expect(read()).rejects.toThrow('away');
    expect([breaker.isAway, breaker.isOpen, heldMs()]).toEqual([true, false, [LIMITS.settlementProbeMs]]);
    passWaits();
    await expect.poll(heldMs).toEqual([LIMITS.settlementProbeMs]);
    expect(breaker.isAway).toBe(true);
    log.comeBack();
    passWaits();
    await expect.poll(() => breaker.isAway).toBe(false);
    expect(heldMs()).toEqual([]);
  }
  log.fault = new EventLogError('invalid', 'it refuses this one');
  await log.goAway();
  for (const read of reads) await expect(read()).rejects.toThrow('refuses');
  expect(breaker.isAway).toBe(false);
});

test('nobody asks after it was closed', async () => {
  const { breaker, probe, asked } = scene();
  breaker.failed(AWAY);
  probe.close();
  await asked(0);
  breaker.failed(AWAY);
  expect(heldMs()).toEqual([]);
});

test('of what is appended the breaker is told what the log has taken: no conflict, and no failure', async () => {
  const { log, breaker } = scene();
  const told = toldLog(log, breaker);
  const append = () => told.append('ledger' as StreamName, NO_STREAM, probeEvent('LogProbe'));
  log.faults = () => ({ type: 'lose' });
  await expect(append()).rejects.toThrow('lost');
  log.faults = () => ({ type: 'none' });
  expect((await append()).type).toBe('conflict');
  expect(breaker.taken).toBe(0);
  const { taken } = breaker;
  await told.append('clock' as StreamName, NO_STREAM, probeEvent('LogProbe'));
  expect(breaker.taken).toBe(taken + 1);
});
