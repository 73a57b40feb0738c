import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { expect, it } from 'vitest';
import { accountId } from '../../contracts/ids.ts';
import { UnreadableFileError } from '../../ledger/unreadable-file.ts';
import { readParked, writeParked } from '../../projections/parked-accounts.ts';
import { askGateway } from '../../proxy/operator-requests/ask-gateway.ts';
import { carryOut } from '../../proxy/operator-requests/carry-out.ts';
import { OperatorDesk } from '../../proxy/operator-requests/operator-desk.ts';
import { requestFile } from '../../proxy/operator-requests/operator-request.ts';
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
    isThere: () => existsSync(requestFile(dataFolder)),
  });
  await begun.promise;
  rmSync(requestFile(dataFolder));
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
  const isThere = (): boolean => existsSync(requestFile(dataFolder));
  desk.start();
  expect(await askGateway(asked, { dataFolder, clock: Date.now, timeMs: 60_000, isThere })).toBe('gone');
  expect(begun).toEqual([]);
  isAwaited = true;
  const answer = askGateway(asked, { dataFolder, clock: Date.now, timeMs: 60_000, isThere });
  await expect.poll(() => begun[0]?.aborted).toBe(true);
  rmSync(requestFile(dataFolder), { force: true });
  expect(await answer).toBe('gone');
});

it('a program that a signal ends has withdrawn what it has asked', async () => {
  const dataFolder = temporaryFolder();
  const script = `import { askGateway } from ${JSON.stringify(new URL('../../proxy/operator-requests/ask-gateway.ts', import.meta.url).href)};
    const answer = askGateway(${JSON.stringify(asked)}, { dataFolder: ${JSON.stringify(dataFolder)}, clock: Date.now, timeMs: 60_000, isThere: () => true });
    console.log('asked'); await answer;`;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  expect(readdirSync(dataFolder)).toEqual(['operator-request.json']);
  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([null, 'SIGINT']);
  expect(readdirSync(dataFolder)).toEqual([]);
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
    carryOut(asked, { projections: projections as never, dataFolder }, AbortSignal.timeout(60_000)),
  ).rejects.toThrow(UnreadableFileError);
  rmSync(join(dataFolder, 'parked.json'));
  writeParked(dataFolder, A, 'a look');
  const broken = { ...projections, unpark: () => Promise.reject(new Error('the log is away')) };
  await expect(
    carryOut(asked, { projections: broken as never, dataFolder }, AbortSignal.timeout(60_000)),
  ).rejects.toThrow('away');
  expect(done).toEqual(['parked: a look']);
  expect(readParked(dataFolder)).toEqual([{ accountId: A, reason: 'a look' }]);
});
