import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { expect, it } from 'vitest';
import {
  type EventLog,
  EventLogError,
  type ReadAllOptions,
  type ReadStreamOptions,
} from '../../../../contracts/event-log.ts';
import { LEDGER_STREAM, type StreamName } from '../../../../contracts/ids.ts';
import { readConfiguration } from '../../../../proxy/program/configuration/read-configuration.ts';
import { Gateway } from '../../../../proxy/program/serve/gateway.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';
import { LogWithOutages } from '../../../fixtures/ledger/log-with-outages.ts';
import { MemoryEventLog } from '../../../fixtures/ledger/memory-event-log.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

/** Its server stamps what it takes. */
class StampingLog extends MemoryEventLog {
  override async *readAll(options?: ReadAllOptions) {
    for await (const event of super.readAll(options)) yield { ...event, stampedAtMs: Date.now() };
  }

  override async *readStream(stream: StreamName, options?: ReadStreamOptions) {
    for await (const event of super.readStream(stream, options)) yield { ...event, stampedAtMs: Date.now() };
  }
}

async function start(log: EventLog, settings: object, lines: string[] = []): Promise<Gateway> {
  const data = temporaryFolder();
  const file = join(data, 'gateway.json');
  writeFileSync(file, JSON.stringify({ data, listen: { port: 0 }, ...settings }));
  const configuration = readConfiguration({ file, environment: {}, callsProviders: true });
  const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  return endedLater(
    await Gateway.start({
      configuration,
      log,
      logger,
      clock: Date.now,
      monotonic: Date.now,
      reserveBytes: 1_024,
    }),
  );
}

it('the breaker is told of each append of a gateway that the log takes, also of those by which clocks are compared', async () => {
  const log = new StampingLog();
  const gateway = await start(log, { proxies: 'many' });
  await gateway.whenReady();
  expect(log.events.map(({ type }) => type)).toContain('ClockCompared');
  // Each append is of one command.
  const appends = new Set(log.events.map(({ metadata }) => JSON.parse(metadata).commandId));
  expect(gateway.process.breaker.taken).toBe(appends.size);
});

it('where no view follows the log it is away as soon as it answers no read, and there once it does', async () => {
  const log = new LogWithOutages();
  await log.goAway();
  const kafka = { brokers: ['127.0.0.1:1'], topic: 'ledger', partitions: 1 };
  const { breaker, ledgerWatch } = (await start(log, { kafka, projections: { source: 'kafka' } })).process;
  expect(breaker.isAway).toBe(true);
  log.comeBack();
  await ledgerWatch.whenWhole;
  await expect.poll(() => breaker.isAway).toBe(false);
  expect(new Set(log.inner.events.map(({ stream }) => stream))).toEqual(new Set([LEDGER_STREAM]));
});

it('an outage is told once when it begins, once for each further reason, and once when it is over', async () => {
  const lines: string[] = [];
  const gateway = await start(new MemoryEventLog(), {}, lines);
  await gateway.whenReady();
  const { breaker } = gateway.process;
  const failed = (...reasons: readonly string[]): void => {
    for (const reason of reasons) breaker.failed(new EventLogError('unavailable', reason));
  };
  lines.length = 0;
  // In one turn, in which nobody asks whether it is back.
  failed('no answer in 5000 ms', 'no answer in 6000 ms', 'no leader', 'no answer in 5000 ms', 'no leader');
  breaker.appended();
  failed('no answer in 5000 ms', 'no leader');
  breaker.appended();
  const further = 'the event log still does not answer, for another reason';
  const [goes, isBack] = [
    'the event log does not answer; usage stays in the journal',
    expect.stringContaining('again'),
  ];
  expect(lines).toEqual([goes, further, isBack, goes, further, isBack]);
});

it('no outage is told by more than a few of its reasons, however its words differ', async () => {
  const lines: string[] = [];
  const gateway = await start(new MemoryEventLog(), {}, lines);
  await gateway.whenReady();
  lines.length = 0;
  for (const letter of 'abcdefghijklmnopqrstuvwxyz') gateway.process.breaker.failed(new Error(letter));
  expect(lines.length).toBeLessThan(10);
});
