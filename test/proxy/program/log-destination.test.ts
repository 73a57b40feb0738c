import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LogDestination, type LogDestinationOptions } from '../../../proxy/program/log-destination.ts';
import { canMount, smallDisk } from '../../fixtures/ledger/small-disk.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const PAUSE_MS = 5;
const WAIT = { timeout: 60_000, interval: 5 };
const line = (number: number): string => `${number} ${'x'.repeat(500)}\n`;

/** So many turns that a write has been answered. */
async function whenWritten(): Promise<void> {
  for (let turn = 0; turn < 500; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Of a descriptor that is closed behind it: nothing is written to whatever has its number then. */
function destinationAt(options: LogDestinationOptions): LogDestination {
  const destination = new LogDestination(options);
  onTestFinished(async () => {
    destination.end();
    await whenWritten();
    closeSync(options.fd);
  });
  return destination;
}

/** A log on a small disk. */
function log() {
  const disk = smallDisk(256);
  const path = join(dirname(disk.folder), 'log');
  const told: Error[] = [];
  const destination = destinationAt({
    ...{ fd: openSync(path, 'a'), pauseMs: PAUSE_MS, waitingBytesMax: 20_000, lostLines: (n: number) => `lost ${n}\n` },
    onUnwritten: (error) => told.push(error),
  });
  return { told, disk, destination, lines: () => readFileSync(path, 'utf8').split('\n').slice(0, -1) };
}

describe('a log', () => {
  test('has every line, in order', async () => {
    if (!canMount) return;
    const { destination, lines } = log();
    for (let number = 0; number < 30; number++) destination.write(line(number));
    await expect.poll(() => lines().map((one) => Number.parseInt(one, 10)), WAIT).toEqual(Array.from(Array(30).keys()));
  });
});

test.each([
  ['turned \u202e', '"turned \\u202e"'],
  ['caf\u00e9', '"caf\u00e9"'],
  ['deleted \x7f', '"deleted \\u007f"'],
])('a log shows what would hide, or turn what is seen, and is the same JSON: %j', async (value, shownAs) => {
  const path = join(temporaryFolder(), 'log');
  const destination = destinationAt({ fd: openSync(path, 'a'), lostLines: String });
  const values = ['plain', value, 'plain'];
  const shown = ['"plain"', shownAs, '"plain"'];
  for (const value of values) destination.write(`${JSON.stringify(value)}\n`);
  expect(destination.end()).toBe(0);
  // Of what comes behind its end nothing is written.
  destination.write('"late"\n');
  await whenWritten();
  expect(readFileSync(path, 'utf8')).toBe(`${shown.join('\n')}\n`);
});

describe.runIf(canMount)('a log on a full disk', () => {
  test('is told of once, until something is written again', async () => {
    const { disk, destination, lines, told } = log();
    for (const times of [1, 2]) {
      disk.leaveFree(0);
      // More than the rest of a block takes.
      for (let number = 0; number < 20; number++) {
        destination.write(line(number));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await expect.poll(() => told.length, WAIT).toBe(times);
      // It is tried again meanwhile.
      for (let tries = 0; tries < 5; tries++) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      disk.clear();
      await expect.poll(() => lines().length, WAIT).toBe(20 * times);
    }
    expect(told.map(String)).toEqual(Array(2).fill(expect.stringContaining('ENOSPC')));
  });

  test('ends nothing, keeps what it can, and says how much is lost when there is room again', async () => {
    const { disk, destination, lines } = log();
    destination.write(line(0));
    await expect.poll(() => lines().length, WAIT).toBe(1);
    disk.leaveFree(0);
    for (let number = 1; number < 200; number++) {
      destination.write(line(number));
      await new Promise((resolve) => setImmediate(resolve));
    }
    disk.clear();
    // Another line brings nothing that a timer would not: whoever logs nothing more has his lines all the same.
    const told = () => lines().flatMap((one) => Number(/^lost (\d+)$/.exec(one)?.[1] ?? []));
    const kept = () => lines().filter((one) => !one.startsWith('lost '));
    const lost = () => told().reduce((sum, count) => sum + count, 0);
    await expect.poll(() => kept().length + lost(), WAIT).toBe(200);
    expect(lost()).toBeGreaterThan(10);
    const numbers = kept().map((one) => Number.parseInt(one, 10));
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    expect(kept()).toEqual(numbers.map((number) => line(number).trimEnd()));
  });

  test('does not keep a process from ending, and says how much that costs', async () => {
    const { disk, destination, lines, told } = log();
    disk.leaveFree(0);
    for (let number = 0; number < 30; number++) destination.write(line(number));
    await expect.poll(() => told.length, WAIT).toBe(1);
    const numbers = () => lines().map((one) => Number.parseInt(one, 10));
    // Others wait, and of more there is none.
    for (let number = 30; number < 100; number++) destination.write(line(number));
    const { lost } = destination;
    expect(lost).toBeGreaterThan(0);
    expect(destination.end()).toBe(100 - numbers().length);
    disk.clear();
    await whenWritten();
    destination.write(line(100));
    expect(numbers()).toEqual([]);
  });

  test('loses nothing that there is room for when the process ends', async () => {
    const { disk, destination, lines, told } = log();
    disk.leaveFree(0);
    for (let number = 0; number < 30; number++) destination.write(line(number));
    await expect.poll(() => told.length, WAIT).toBe(1);
    disk.clear();
    expect(destination.end()).toBe(0);
    expect(lines().map((one) => Number.parseInt(one, 10))).toEqual([...Array(30).keys()]);
  });
});

/** What there is in a pipe. */
function readNow(fd: number): string {
  const piece = Buffer.alloc(1024 * 1024);
  try {
    return piece.toString('utf8', 0, readSync(fd, piece));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return '';
    throw error;
  }
}

test('a log that its place holds writes nothing at the end, and counts what is held', async () => {
  const path = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(reader));
  const destination = destinationAt({ fd: openSync(path, constants.O_WRONLY), mayHold: true, lostLines: String });
  // The first write is more than a pipe takes, and the others wait for it.
  for (let number = 0; number < 200; number++) destination.write(line(number));
  await whenWritten();
  for (let number = 200; number < 210; number++) destination.write(line(number));
  expect(destination.isHeld).toBe(true);
  expect(destination.end()).toBe(210);
  // What was held is on its way.
  let text = '';
  const taken = () => {
    text += readNow(reader);
    return text;
  };
  await expect.poll(taken, WAIT).toBe([...Array(200).keys()].map(line).join(''));
});

describe.each([true, false])('a log whose reader does not read (of which that is known: %s)', (waitsForNobody) => {
  /** A pipe with both of its ends, and what is in it. */
  function pipe() {
    const path = join(temporaryFolder(), 'pipe');
    execFileSync('mkfifo', [path]);
    const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    return { fd, read: () => readNow(fd) };
  }

  test('has lines as one piece when they fill a pipe, and what comes meanwhile with the next', async () => {
    const { fd, read } = pipe();
    const destination = destinationAt({ fd, waitsForNobody, gatherMs: 60_000, lostLines: String });
    const perPiece = Math.ceil((60 * 1024) / line(100).length) + 1;
    const numbersOf = (text: string): number[] =>
      text
        .split('\n')
        .slice(0, -1)
        .map((one) => Number.parseInt(one, 10));
    for (let number = 0; number < perPiece + 5; number++) destination.write(line(number));
    let piece = '';
    const next = (): string => {
      piece = read();
      return piece;
    };
    await expect.poll(next, WAIT).not.toBe('');
    const first = numbersOf(piece);
    await whenWritten();
    for (let number = perPiece + 5; number < 2 * perPiece; number++) destination.write(line(number));
    await expect.poll(next, WAIT).not.toBe('');
    const second = numbersOf(piece);
    expect(first.length).toBeLessThanOrEqual(perPiece);
    expect(second.length).toBeGreaterThan(perPiece - 5);
    expect(destination.end()).toBe(0);
    expect([...first, ...second, ...numbersOf(read())]).toEqual([...Array(2 * perPiece).keys()]);
  });

  test('has lines that are made later in their order, behind so many of them or so long, or at the end', async () => {
    const { fd, read } = pipe();
    let made = 0;
    const later = (destination: LogDestination, number: number) =>
      destination.writeLater(() => {
        made++;
        return line(number);
      });
    const destination = destinationAt({ fd, waitsForNobody, gatherMs: 60_000, lostLines: String });
    for (let number = 0; number < 63; number++) later(destination, number);
    expect(made).toBe(0);
    later(destination, 63);
    expect(made).toBe(64);
    later(destination, 64);
    destination.write(line(65));
    expect(made).toBe(65);
    later(destination, 66);
    expect([destination.end(), made]).toEqual([0, 66]);
    destination.writeLater(() => expect.fail('made'));
    expect(destination.lost).toBe(1);
    const numbers = read()
      .split('\n')
      .slice(0, -1)
      .map((one) => Number.parseInt(one, 10));
    expect(numbers).toEqual([...Array(67).keys()]);
    const held = destinationAt({ fd: pipe().fd, mayHold: true, gatherMs: 60_000, lostLines: String });
    for (let number = 0; number < 2; number++) later(held, number);
    expect(held.end()).toBe(2);
    const soon = pipe();
    later(destinationAt({ fd: soon.fd, waitsForNobody, gatherMs: 1, lostLines: String }), 0);
    await expect.poll(soon.read, WAIT).toBe(line(0));
  });

  test('has what a pipe had no room for once there is, also where no line comes any more', async () => {
    const { fd, read } = pipe();
    const destination = destinationAt({ fd, waitsForNobody, gatherMs: 60_000, lostLines: String });
    for (const piece of ['a', 'b']) {
      destination.write(`${piece.repeat(61 * 1024)}\n`);
      await whenWritten();
    }
    let text = '';
    const lengths = () => {
      text += read();
      return text.split('\n').map((one) => one.length);
    };
    await expect.poll(lengths, WAIT).toEqual([61 * 1024, 61 * 1024, 0]);
  });

  test('keeps so much and no more, counts what is lost, and says so once there is room', async () => {
    const { fd, read } = pipe();
    const lostLines = (count: number): string => `lost ${count}\n`;
    const destination = destinationAt({ fd, waitsForNobody, waitingBytesMax: 20_000, gatherMs: 1, lostLines });
    let text = '';
    for (let number = 0; number < 1_000; number++) {
      destination.write(line(number));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { lost } = destination;
    // A pipe has 64 KiB, and as much may be on its way.
    expect(lost).toBeGreaterThan(500);
    const lines = () => {
      text += read();
      return text.split('\n').slice(0, -1);
    };
    const isKept = (one: string): boolean => !one.startsWith('lost ');
    await expect.poll(() => lines().filter(isKept).length, WAIT).toBe(1_000 - lost);
    const told = () => lines().flatMap((one) => Number(/^lost (\d+)$/.exec(one)?.[1] ?? []));
    await expect.poll(() => told().reduce((sum, count) => sum + count, 0), WAIT).toBe(lost);
  });

  // Elsewhere what is on its way then is the kernel's.
  test.runIf(waitsForNobody)(
    'loses a count of lines, and says so, where nobody takes them before the process ends',
    async () => {
      const { fd, read } = pipe();
      const destination = destinationAt({
        fd,
        waitsForNobody,
        waitingBytesMax: 100_000,
        gatherMs: 1,
        lostLines: (n) => `lost ${n}\n`,
      });
      for (let number = 0; number < 600; number++) {
        destination.write(line(number));
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(destination.lost).toBeGreaterThan(100);
      await whenWritten();
      const lines = destination.end();
      // The last may be there in part.
      const taken = read().split('\n').length - 1;
      expect(taken).toBeGreaterThan(50);
      expect(lines).toBe(600 - taken);
      destination.write(line(600));
      await whenWritten();
      expect(read()).toBe('');
    },
  );
});
