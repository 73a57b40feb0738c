import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import type { RecordedEvent } from '../../../../contracts/event-log.ts';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { collect, events, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import type { AppendReport } from './append-process.ts';
import { newPath, openLog } from './log-file.ts';

const PROCESS = fileURLToPath(new URL('./append-process.ts', import.meta.url));
const STREAMS = ['account-a', 'account-b', 'account-c'];
const EVENTS = 3;

interface Appending {
  readonly child: ChildProcess;
  readonly reports: AppendReport[];
  /** Exit code or signal. */
  readonly ended: Promise<unknown>;
}

/** @param onReport called for each answer that the process has had */
function startAppending(
  path: string,
  args: readonly string[],
  onReport: (appending: Appending) => void = () => undefined,
  command: readonly string[] = [process.execPath],
): Appending {
  const [program = '', ...before] = command;
  const child = spawn(program, [...before, PROCESS, '--path', path, ...args, ...STREAMS], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const appending: Appending = { child, reports: [], ended: endOf(child) };
  createInterface({ input: child.stdout }).on('line', (line) => {
    // The last line of a process that was killed may be cut; its answer then did not arrive.
    if (!line.endsWith('}')) return;
    appending.reports.push(JSON.parse(line) as AppendReport);
    onReport(appending);
  });
  return appending;
}

async function endOf(child: ChildProcess): Promise<unknown> {
  const [code, signal] = await once(child, 'close');
  return signal ?? code;
}

/** Whole appends, each once, in unbroken streams, with every acknowledged one among them. */
function expectWhole(recorded: readonly RecordedEvent[], reports: readonly AppendReport[]): void {
  expect(recorded.map(({ position }) => position)).toEqual(recorded.map((_, index) => index + 1));
  expect(new Set(recorded.map(({ id }) => id)).size).toBe(recorded.length);
  const appends = new Set<string>();
  for (const stream of STREAMS) {
    const own = recorded.filter((event) => event.stream === stream);
    expect(own.map(({ revision }) => revision)).toEqual(own.map((_, index) => index));
    expect(own.length % EVENTS).toBe(0);
    for (let at = 0; at < own.length; at += EVENTS)
      appends.add([stream, ...own.slice(at, at + EVENTS).map(({ id }) => id)].join(' '));
  }
  const acknowledged = reports.filter(({ answer }) => answer === 'appended');
  for (const { stream, ids } of acknowledged) assert(appends.has([stream, ...ids].join(' ')), 'an answer is kept');
}

async function readBack(path: string): Promise<RecordedEvent[]> {
  const log = await openLog(path);
  const recorded = await collect(log.readAll());
  await log.close();
  return recorded;
}

it('several processes append to the same streams of one file and lose and double nothing', async () => {
  const path = newPath();
  const two = [0, 1].map(() => startAppending(path, ['--appenders', '6', '--appends', '40']));
  expect(await Promise.all(two.map(({ ended }) => ended))).toEqual([0, 0]);
  const reports = two.flatMap((one) => one.reports);
  expect(reports.map(({ answer }) => answer)).toEqual(Array.from({ length: 480 }, () => 'appended'));
  const recorded = await readBack(path);
  expectWhole(recorded, reports);
  expect(recorded).toHaveLength(480 * EVENTS);
});

it('kill -9 leaves whole appends, and every one that was answered', async () => {
  const path = newPath();
  const reports: AppendReport[] = [];
  for (const answers of [1, 40, 150]) {
    const appending = startAppending(path, ['--appends', '100000'], (one) => {
      if (one.reports.length === answers) one.child.kill('SIGKILL');
    });
    expect(await appending.ended).toBe('SIGKILL');
    reports.push(...appending.reports);
    expectWhole(await readBack(path), reports);
  }
  const log = await openLog(path);
  await written(log, newStream(), NO_STREAM, events(1));
});

it('a disk that is full fails appends and keeps every one that was answered', async () => {
  const path = newPath();
  const limited = ['bash', '-c', 'ulimit -f 1024; exec "$0" "$@"', process.execPath];
  const appending = startAppending(path, ['--appends', '100000', '--bytes', '2000'], undefined, limited);
  expect(await appending.ended).toBe(0);
  const failed = appending.reports.filter(({ answer }) => answer !== 'appended');
  expect(appending.reports.length - failed.length).toBeGreaterThan(20);
  expect(failed.length).toBe(8);
  for (const { answer } of failed) expect(['unavailable', 'ambiguous']).toContain(answer);
  expectWhole(await readBack(path), appending.reports);
});
