import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { EventLog, ProposedEvent } from '../../../contracts/event-log.ts';
import { eventId, NO_STREAM, type Revision, type StreamName, uuidV7 } from '../../../contracts/ids.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';

/**
 * Appends events at a steady rate to the embedded log, and prints what that costs.
 *
 *   node test/ledger/event-log/throughput.ts --rate 5000 --seconds 5 --per-append 1,2,32,256 --streams 1000
 *
 * rate: events a second (0: as fast as 64 appenders can); bytes: of an event's data and metadata together. The file is
 * made in the system's folder for temporary files and removed. CPU is that of all threads, the appender included.
 */
const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '5' },
    'per-append': { type: 'string', default: '2' },
    streams: { type: 'string', default: '1000' },
    bytes: { type: 'string', default: '500' },
    subscribers: { type: 'string', default: '0' },
  },
});

const APPENDERS = 64;
const APPENDS_OUTSTANDING_MAX = 20_000;
const TICK_MS = 2;
const SECONDS_MAX = 60;

interface Load {
  readonly eventsPerSecond: number;
  readonly seconds: number;
  readonly eventsPerAppend: number;
  readonly streams: number;
  readonly bytes: number;
  readonly subscribers: number;
}

interface Heads {
  readonly name: StreamName;
  head: Revision;
  isBusy: boolean;
}

const rows = [];
for (const perAppend of values['per-append'].split(','))
  rows.push(
    await measure({
      eventsPerSecond: Number(values.rate),
      seconds: Math.min(Number(values.seconds), SECONDS_MAX),
      eventsPerAppend: Number(perAppend),
      streams: Number(values.streams),
      bytes: Number(values.bytes),
      subscribers: Number(values.subscribers),
    }),
  );
console.table(rows);

async function measure(load: Load): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'throughput-'));
  const log = await openSqliteEventLog({ path: join(folder, 'ledger.db') });
  const delivered = subscribe(log, load.subscribers);
  try {
    await run(log, { ...load, seconds: 1 }, []);
    const latenciesMs: number[] = [];
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const [cpu, startMs] = [process.cpuUsage(), performance.now()];
    const events = await run(log, load, latenciesMs);
    const seconds = (performance.now() - startMs) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    delay.disable();
    latenciesMs.sort((a, b) => a - b);
    const at = (share: number): number => rounded(latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0);
    return {
      'events per append': load.eventsPerAppend,
      'events/s': Math.round(events / seconds),
      'ack p50 ms': at(0.5),
      'ack p99 ms': at(0.99),
      'loop delay p99 ms': rounded(delay.percentile(99) / 1e6),
      'loop delay max ms': rounded(delay.max / 1e6),
      'CPU µs/event': rounded((user + system) / events),
      'user µs/event': rounded(user / events),
      delivered: delivered.count,
    };
  } finally {
    await log.close();
    rmSync(folder, { recursive: true });
  }
}

function subscribe(log: EventLog, count: number): { count: number } {
  const delivered = { count: 0 };
  for (let index = 0; index < count; index++)
    log.subscribeAll({
      after: null,
      onEvents: (events) => {
        delivered.count += events.length;
      },
    });
  return delivered;
}

/** Returns the events that were acknowledged. */
async function run(log: EventLog, load: Load, latenciesMs: number[]): Promise<number> {
  const streams: Heads[] = Array.from({ length: load.streams }, (_, index) => ({
    name: `account-${process.hrtime.bigint()}-${index}` as StreamName,
    head: NO_STREAM,
    isBusy: false,
  }));
  const startMs = performance.now();
  const endMs = startMs + load.seconds * 1000;
  let [events, next, outstanding] = [0, 0, 0];
  const appendOne = async (): Promise<void> => {
    let stream = streams[next++ % streams.length];
    while (stream === undefined || stream.isBusy) stream = streams[next++ % streams.length];
    stream.isBusy = true;
    outstanding++;
    const sentMs = performance.now();
    const result = await log.append(stream.name, stream.head, proposed(load));
    latenciesMs.push(performance.now() - sentMs);
    outstanding--;
    stream.isBusy = false;
    if (result.type !== 'appended') throw new Error('nobody else appends here');
    stream.head = result.lastRevision;
    events += load.eventsPerAppend;
  };
  if (load.eventsPerSecond === 0) {
    await Promise.all(
      Array.from({ length: APPENDERS }, async () => {
        while (performance.now() < endMs) await appendOne();
      }),
    );
    return events;
  }
  const appendsMax = Math.min(APPENDS_OUTSTANDING_MAX, load.streams - 1);
  const appendsPerMs = load.eventsPerSecond / load.eventsPerAppend / 1000;
  const appends: Promise<void>[] = [];
  for (let sent = 0; performance.now() < endMs; await pause(TICK_MS))
    for (; sent < (performance.now() - startMs) * appendsPerMs && outstanding < appendsMax; sent++)
      appends.push(appendOne());
  await Promise.all(appends);
  return events;
}

function proposed({ eventsPerAppend, bytes }: Load): ProposedEvent[] {
  const now = Date.now();
  return Array.from({ length: eventsPerAppend }, () => ({
    id: eventId(uuidV7(now, crypto.getRandomValues(new Uint8Array(10)))),
    type: 'UsageRecorded',
    data: JSON.stringify({ padding: 'x'.repeat(Math.max(0, bytes - 100)), now }),
    metadata: JSON.stringify({ padding: 'y'.repeat(70) }),
  }));
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
