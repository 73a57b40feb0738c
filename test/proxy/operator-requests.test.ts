import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, { readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { accountId, ledgerId } from '../../contracts/ids.ts';
import { UnreadableFileError } from '../../ledger/unreadable-file.ts';
import { writeLedgerOfViews } from '../../projections/known-views.ts';
import { readParked, writeParked } from '../../projections/parked-accounts.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { askGateway } from '../../proxy/operator-requests/ask-gateway.ts';
import { carryOut } from '../../proxy/operator-requests/carry-out.ts';
import { OperatorDesk } from '../../proxy/operator-requests/operator-desk.ts';
import {
  readAnswer,
  readRequest,
  removeRequest,
  requestFiles,
  requestsIn,
  writeAnswer,
  writeRequest,
} from '../../proxy/operator-requests/operator-request.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const logger = pino({ level: 'silent' });
const A = accountId('acct_a');
const asked = { type: 'unpark', accountId: A } as const;

it('what is withdrawn while it is under way is broken off, and answered to nobody', async () => {
  const dataFolder = temporaryFolder();
  const begun = Promise.withResolvers<AbortSignal>();
  const ended = Promise.withResolvers<void>();
  const desk = endedLater(
    new OperatorDesk({
      ...{ dataFolder, clock: Date.now, logger, isAwaited: () => true },
      carryOut: async (_asked, signal) => {
        begun.resolve(signal);
        await once(signal, 'abort');
        ended.resolve();
        throw signal.reason;
      },
    }),
  );
  desk.start();
  const answer = askGateway(asked, {
    dataFolder,
    clock: Date.now,
    timeMs: 60_000,
    isThere: () => requestsIn(dataFolder).length > 0,
  });
  await begun.promise;
  withdrawn(dataFolder);
  await ended.promise;
  expect(await answer).toBe('gone');
  await desk.close();
  expect(readdirSync(dataFolder)).toEqual([]);
});

it('what nobody waits for any more is not begun, and is broken off where it was', async () => {
  const dataFolder = temporaryFolder();
  let isAwaited = false;
  const begun: AbortSignal[] = [];
  const desk = endedLater(
    new OperatorDesk({
      ...{ dataFolder, clock: Date.now, logger, isAwaited: () => isAwaited },
      carryOut: async (_asked, signal) => {
        begun.push(signal);
        isAwaited = false;
        await once(signal, 'abort');
        throw signal.reason;
      },
    }),
  );
  const isThere = (): boolean => requestsIn(dataFolder).length > 0;
  desk.start();
  expect(await askGateway(asked, { dataFolder, clock: Date.now, timeMs: 60_000, isThere })).toBe('gone');
  expect(begun).toEqual([]);
  isAwaited = true;
  const answer = askGateway(asked, { dataFolder, clock: Date.now, timeMs: 60_000, isThere });
  await expect.poll(() => begun[0]?.aborted).toBe(true);
  withdrawn(dataFolder);
  expect(await answer).toBe('gone');
});

/** A desk that begins what it is asked and never ends it by itself, and what it has begun and said. */
function waitingDesk(dataFolder: string, clock: () => number) {
  const begun: AbortSignal[] = [];
  const said: string[] = [];
  const lines = { write: (line: string) => void said.push(JSON.parse(line).msg) };
  const desk = endedLater(
    new OperatorDesk({
      ...{ dataFolder, clock, logger: pino({}, lines), isAwaited: () => true },
      carryOut: async (_asked, signal) => {
        begun.push(signal);
        await once(signal, 'abort');
        throw signal.reason;
      },
    }),
  );
  desk.start();
  return { desk, begun, said };
}

const requested = (dataFolder: string, id: string, request: unknown): void =>
  writeFileSync(
    requestFiles(dataFolder, id).request,
    typeof request === 'string' ? request : JSON.stringify({ id, ...(request as object) }),
  );

const withdrawn = (dataFolder: string): void => requestsIn(dataFolder).forEach(removeRequest);

it('what nobody waits for because its time is over is not begun, and what cannot be read is dropped and told', async () => {
  const dataFolder = temporaryFolder();
  const { begun, said } = waitingDesk(dataFolder, () => 1_001);
  for (const request of [{ untilMs: 1_000, asked }, '{"id":', { untilMs: 9_999, asked: {} }]) {
    requested(dataFolder, 'odd', request);
    await expect.poll(() => requestsIn(dataFolder)).toEqual([]);
  }
  expect([begun, readdirSync(dataFolder)]).toEqual([[], []]);
  expect(said).toEqual([
    'what an operator has asked for cannot be read or answered, and is dropped',
    'what an operator has asked for cannot be read or answered, and is dropped',
  ]);
});

it('what is under way when its time is over, or when the gateway ends, is broken off, and the answer says so', async () => {
  const [late, ending] = [temporaryFolder(), temporaryFolder()];
  waitingDesk(late, () => 1_000);
  requested(late, 'one', { untilMs: 1_001, asked });
  const one = requestFiles(late, 'one');
  await expect.poll(() => readAnswer(one)).toMatchObject({ id: 'one', refused: expect.stringContaining('timeout') });
  const { desk, begun } = waitingDesk(ending, () => 1_000);
  requested(ending, 'two', { untilMs: 61_000, asked });
  await expect.poll(() => begun).toHaveLength(1);
  await desk.close();
  expect(readAnswer(requestFiles(ending, 'two'))).toEqual({ id: 'two', refused: 'the gateway is ending' });
});

const OTHER = { id: 'other', untilMs: 61_000, asked };

it('who asks waits for the answer to his own request, beside nobody else’s whose time is not over', async () => {
  const dataFolder = temporaryFolder();
  const other = requestFiles(dataFolder, 'other');
  const ask = (nowMs: number, isThere: boolean) =>
    askGateway(asked, { dataFolder, clock: () => nowMs, timeMs: 1, isThere: () => isThere });
  writeRequest(other, { ...OTHER, untilMs: 1_000 });
  expect(await ask(1_000, true)).toBe('busy');
  expect(await ask(1_001, false)).toBe('gone');
  // The gateway's to take away, or whose it is.
  expect(readRequest(other)?.id).toBe('other');
  writeAnswer(other, { id: 'other', refused: null });
  expect(await ask(1_001, true)).toBe('silent');
  expect(readdirSync(dataFolder)).toEqual(['operator-answer-other.json']);
});

it('what a gateway answers that ends before anybody has looked again is the answer', async () => {
  const dataFolder = temporaryFolder();
  const isThere = (): boolean => {
    for (const files of requestsIn(dataFolder)) writeAnswer(files, { id: 'his', refused: null });
    return false;
  };
  expect(await askGateway(asked, { dataFolder, clock: Date.now, timeMs: 60_000, isThere })).toEqual({ refused: null });
  expect(readdirSync(dataFolder)).toEqual([]);
});

it('who asks does not wait on for what a gateway has dropped', async () => {
  const dataFolder = temporaryFolder();
  const isThere = (): boolean => {
    withdrawn(dataFolder);
    return true;
  };
  expect(await askGateway(asked, { dataFolder, clock: Date.now, timeMs: 3_600_000, isThere })).toBe('silent');
});

/** What others do at the instant before a file is taken away, once. */
function beforeRemoval(work: () => void): void {
  const real = fs.rmSync;
  const restore = (): void => {
    fs.rmSync = real;
    syncBuiltinESMExports();
  };
  fs.rmSync = (path, options) => {
    restore();
    work();
    real(path, options);
  };
  syncBuiltinESMExports();
  onTestFinished(restore);
}

it.each([
  ['his time is over', 'silent'],
  ['nobody is there any more', 'gone'],
])('who asks takes away no request but his own where %s', async (_when, end) => {
  const dataFolder = temporaryFolder();
  const other = requestFiles(dataFolder, 'other');
  beforeRemoval(() => {
    // His was answered to nobody, and another stands there by now.
    withdrawn(dataFolder);
    writeRequest(other, OTHER);
  });
  const isThere = (): boolean => end !== 'gone';
  expect(await askGateway(asked, { dataFolder, clock: Date.now, timeMs: 1, isThere })).toBe(end);
  expect(readRequest(other)).toEqual(OTHER);
});

it.each([
  ['answered', { untilMs: 9_999, asked }],
  ['too late', { untilMs: 1, asked }],
  ['not to be read', '{"id":'],
])(
  'the gateway takes away no request but the one that is %s: what comes at that instant is done',
  async (_which, request) => {
    const dataFolder = temporaryFolder();
    const done: unknown[] = [];
    const desk = new OperatorDesk({
      ...{ dataFolder, clock: () => 1_000, logger, isAwaited: () => true },
      carryOut: async (what) => void done.push(what),
    });
    const parked = { type: 'park', accountId: A, reason: 'a look' } as const;
    const other = requestFiles(dataFolder, 'other');
    beforeRemoval(() => {
      withdrawn(dataFolder);
      writeRequest(other, { ...OTHER, asked: parked });
    });
    requested(dataFolder, 'one', request);
    endedLater(desk).start();
    await expect.poll(() => readAnswer(other)).toEqual({ id: 'other', refused: null });
    expect(done.at(-1)).toEqual(parked);
    expect(requestsIn(dataFolder)).toEqual([]);
  },
);

it('each of two answers is there until it is read, and one that nobody reads for an hour', async () => {
  const dataFolder = temporaryFolder();
  const [one, two] = [requestFiles(dataFolder, 'one'), requestFiles(dataFolder, 'two')];
  let nowMs = Date.now();
  const desk = new OperatorDesk({
    ...{ dataFolder, clock: () => nowMs, logger, isAwaited: () => true, carryOut: async () => undefined },
  });
  for (const id of ['one', 'two']) requested(dataFolder, id, { untilMs: nowMs + 60_000, asked });
  endedLater(desk).start();
  await expect.poll(() => [readAnswer(one)?.id, readAnswer(two)?.id]).toEqual(['one', 'two']);
  nowMs += 3_000_000;
  utimesSync(one.answer, 0, 0);
  await expect.poll(() => readAnswer(one)).toBe(null);
  expect(readAnswer(two)).toEqual({ id: 'two', refused: null });
});

it('what a program of before asks, under the one name of then, is answered under that of then', async () => {
  const dataFolder = temporaryFolder();
  const desk = new OperatorDesk({
    ...{ dataFolder, clock: () => 1_000, logger, isAwaited: () => true, carryOut: async () => undefined },
  });
  writeFileSync(join(dataFolder, 'operator-request.json'), JSON.stringify(OTHER));
  endedLater(desk).start();
  await expect.poll(() => readdirSync(dataFolder)).toEqual(['operator-answer.json']);
});

it('a folder that cannot be read is told once, and looked at again', async () => {
  const dataFolder = join(temporaryFolder(), 'data');
  const { begun, said } = waitingDesk(dataFolder, () => 1_000);
  await expect.poll(() => said).toEqual(['what operators ask for cannot be looked at']);
  fs.mkdirSync(dataFolder);
  requested(dataFolder, 'one', { untilMs: 61_000, asked });
  await expect.poll(() => begun).toHaveLength(1);
  expect(said).toHaveLength(1);
});

it('views that are not there, or of another generation, are not gone over to', async () => {
  const dataFolder = temporaryFolder();
  const { live, previous } = viewFilesOf(dataFolder);
  const id = ledgerId('ledger_019a5b3c00007000800000000000000a');
  const switched: string[] = [];
  const projections = { switchTo: async (path: string) => void switched.push(path) };
  const going = () =>
    carryOut(
      { type: 'switch-views', to: 'previous' },
      { projections: projections as never, dataFolder, logger },
      AbortSignal.timeout(60_000),
    );
  writeLedgerOfViews(live, { ledgerId: id, generation: 2 });
  await expect(going()).rejects.toThrow(`there is no ${previous}`);
  writeLedgerOfViews(previous, { ledgerId: id, generation: 1 });
  await expect(going()).rejects.toThrow('of another generation');
  expect(switched).toEqual([]);
  writeLedgerOfViews(previous, { ledgerId: id, generation: 2 });
  await going();
  expect(switched).toEqual([previous]);
});

it.each([
  ['what it has asked', []],
  ['nothing of others', ['operator-request-other.json']],
])('a program that a signal ends has withdrawn %s', async (_what, left) => {
  const dataFolder = temporaryFolder();
  const script = `import { askGateway } from ${JSON.stringify(new URL('../../proxy/operator-requests/ask-gateway.ts', import.meta.url).href)};
    const answer = askGateway(${JSON.stringify(asked)}, { dataFolder: ${JSON.stringify(dataFolder)}, clock: Date.now, timeMs: 60_000, isThere: () => true });
    console.log('asked'); await answer;`;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  expect(requestsIn(dataFolder)).toHaveLength(1);
  if (left.length > 0) requested(dataFolder, 'other', OTHER);
  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([null, 'SIGINT']);
  expect(readdirSync(dataFolder)).toEqual(left);
});

it('an account that cannot be served again stays parked', async () => {
  const dataFolder = temporaryFolder();
  writeParked(dataFolder, A, 'a look');
  const done: string[] = [];
  const projections = {
    unpark: async () => void done.push('unparked'),
    park: (_id: string, reason: string) => void done.push(`parked: ${reason}`),
  };
  // Where it is written there is no room for it.
  writeFileSync(join(dataFolder, 'parked.json'), 'no list');
  await expect(
    carryOut(asked, { projections: projections as never, dataFolder, logger }, AbortSignal.timeout(60_000)),
  ).rejects.toThrow(UnreadableFileError);
  rmSync(join(dataFolder, 'parked.json'));
  writeParked(dataFolder, A, 'a look');
  const broken = { ...projections, unpark: () => Promise.reject(new Error('the log is away')) };
  await expect(
    carryOut(asked, { projections: broken as never, dataFolder, logger }, AbortSignal.timeout(60_000)),
  ).rejects.toThrow('away');
  expect(done).toEqual(['parked: a look']);
  expect(readParked(dataFolder)).toEqual([{ accountId: A, reason: 'a look' }]);
});

it.each(['parked', 'set aside by an event'])(
  'an account that is %s is done with while the log is away, and told where it could not be read later',
  async (how) => {
    const dataFolder = temporaryFolder();
    if (how === 'parked') writeParked(dataFolder, A, 'a look');
    const said: string[] = [];
    const lines = { write: (line: string) => void said.push(JSON.parse(line).err.message) };
    const reading = Promise.withResolvers<void>();
    const projections = {
      accounts: { whyAside: () => 'as before' },
      unpark: (_id: string, onAway: () => void) => {
        onAway();
        return reading.promise;
      },
    };
    const parts = { projections: projections as never, dataFolder, logger: pino({}, lines) };
    await carryOut(asked, parts, AbortSignal.timeout(60_000));
    expect([readParked(dataFolder), said]).toEqual([[], []]);
    reading.reject(new Error('no right to read'));
    await expect.poll(() => said).toEqual(['no right to read']);
  },
);
