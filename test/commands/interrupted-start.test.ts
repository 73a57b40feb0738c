import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { LIMITS } from '../../contracts/limits.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { openEventLog } from '../../proxy/program/open-event-log.ts';
import { runHereWith } from '../fixtures/processes/run-here.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

type HeldAt = 'its log is opened' | 'its log is read' | 'its log is closed';

/** `gateway serve`, in this process, held until it is let go on in a part of its start, in which it is sent SIGTERM, or in its stop, once it is ready. */
async function interruptedWhere(held: HeldAt, beforeSignal = () => {}) {
  const others = process.listeners('SIGTERM');
  onTestFinished(() => {
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
      for (const listener of process.listeners(name)) if (!others.includes(listener)) process.off(name, listener);
  });
  const data = temporaryFolder();
  const [reached, goOn, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), [] as number[]];
  let isClosed = false;
  const hold = (): Promise<void> => {
    reached.resolve();
    return goOn.promise;
  };
  const ended = runHereWith(
    {
      openEventLog: async (configuration, use) => {
        if (held === 'its log is opened') await hold();
        const log = await openEventLog(configuration, use);
        return {
          append: log.append.bind(log),
          readStream: async function* (...args: Parameters<typeof log.readStream>) {
            if (held === 'its log is read') await hold();
            yield* log.readStream(...args);
          },
          readAll: log.readAll.bind(log),
          subscribeAll: log.subscribeAll.bind(log),
          headPosition: log.headPosition.bind(log),
          close: async () => {
            if (held === 'its log is closed') await goOn.promise;
            isClosed = true;
            await log.close();
          },
        };
      },
      leave: (exitCode) => void left.push(exitCode),
      ...(held === 'its log is closed' ? { write: () => reached.resolve() } : {}),
    },
    ...['serve', '--port', '0', '--data', data],
  );
  await reached.promise;
  beforeSignal();
  process.emit('SIGTERM');
  return { ended, left, goOn: goOn.resolve, isClosed: () => isClosed, data };
}

describe('a gateway that is sent SIGTERM in its start', () => {
  it.each(['its log is opened', 'its log is read'] as const)(
    'ends in order as soon as it can, with 0, and is never ready: where %s',
    async (held) => {
      const { ended, left, goOn, isClosed, data } = await interruptedWhere(held);
      goOn();
      expect(await ended).toEqual({ exitCode: 0, stdout: '', stderr: '' });
      expect([isClosed(), left, existsSync(journalFolder(data))]).toEqual([true, [], held === 'its log is read']);
    },
  );

  it('leaves with 0 all the same where that takes too long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { ended, left, goOn } = await interruptedWhere('its log is opened');
    vi.advanceTimersByTime(LIMITS.fatalEndMs - 1);
    expect(left).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(left).toEqual([0]);
    goOn();
    expect((await ended).exitCode).toBe(0);
  });

  it('is not cut off by the bound of a start once it is ready, however long its stop takes', async () => {
    const { ended, left, goOn } = await interruptedWhere('its log is closed', () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
    });
    vi.advanceTimersByTime(LIMITS.fatalEndMs * 10);
    expect(left).toEqual([]);
    vi.useRealTimers();
    goOn();
    expect((await ended).exitCode).toBe(0);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'])('or %s, while its modules are loaded, leaves with 0', async (signal) => {
    const data = temporaryFolder();
    const preload = fileURLToPath(new URL('signal-at-load-preload.ts', import.meta.url));
    const child = spawn(process.execPath, ['--import', preload, PROGRAM, 'serve', '--port', '0', '--data', data], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, SIGNAL_AT_LOAD: signal },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    expect([await text(child.stdout), await ended]).toEqual(['', [0, null]]);
  });
});
