import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { CommandContext } from '../../proxy/program/command-context.ts';
import { Progress } from '../../proxy/program/progress.ts';

/** The line is written anew from its start, and empty. */
const CLEARED = '\u001b[1G\u001b[2K';

test('on a terminal a bar with count, rate and time left, once the work has gone on for a while, and nothing of it stays', () => {
  const { progress, written, pass } = begun({ isTTY: true });
  progress.add(1_000, 40_000);
  expect(written()).toBe('');
  pass(2_000);
  progress.add(9_000, 40_000);
  expect(written()).toContain('[======------------------] 25% of 40,000 events, 5,000/s, 6 s left');
  progress.end();
  expect(written().endsWith(CLEARED)).toBe(true);
});

test('what is written beside it stands on a line of its own, and the bar comes again below', () => {
  const { progress, written, pass } = begun({ isTTY: true });
  pass(2_000);
  progress.add(10_000, 40_000);
  const before = written().length;
  progress.above(() => expect(written().slice(before).endsWith(CLEARED)).toBe(true));
  pass(1_000);
  const after = written().length;
  progress.add(2_000, 40_000);
  expect(written().slice(after)).toContain('30% of 40,000');
  progress.end();
});

test('elsewhere no word of work that is short, and plain lines of what is long', () => {
  const { progress, written, pass } = begun({ isTTY: false });
  pass(29_999);
  progress.add(10_000, 40_000);
  expect(written()).toBe('');
  pass(1);
  progress.add(5_000, 40_000);
  expect(written()).toBe('37% of 40,000 events, 500/s, 50 s left\n');
  progress.end();
});

test('work that fails leaves nothing that would keep the process', () => {
  const { stream, clock } = recorder({ isTTY: true });
  const timersBefore = timers();
  expect(() => {
    using progress = new Progress(contextOf(stream, clock.read), 'events');
    clock.pass(500);
    progress.add(1, 2);
    expect(timers()).toBe(timersBefore + 1);
    throw new Error('it failed');
  }).toThrow('it failed');
  expect(timers()).toBe(timersBefore);
});

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

interface Terminal {
  readonly isTTY: boolean;
}

function begun(terminal: Terminal) {
  const { stream, clock, written } = recorder(terminal);
  return { progress: new Progress(contextOf(stream, clock.read), 'events'), written, pass: clock.pass };
}

function recorder({ isTTY }: Terminal) {
  let text = '';
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 100 }) as unknown as NodeJS.WriteStream;
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  let nowMs = 0;
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { stream, clock: { read: () => nowMs, pass }, written: () => text };
}

const contextOf = (progressStream: NodeJS.WriteStream, clock: () => number): CommandContext => ({
  progressStream,
  clock,
  environment: {},
  write: unused,
  warn: unused,
  openEventLog: unused,
  proveLedger: unused,
  compareClock: unused,
});

function unused(): never {
  throw new Error('progress needs none of it');
}
