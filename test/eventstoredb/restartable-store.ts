import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { startFakeEventStore } from './fake-event-store.ts';
import { StoredLog } from './stored-log.ts';

/** A server that keeps what it has while it is away, and comes back at its port, also with another setting; until the test ends. */
export interface RestartableStore {
  readonly connectionString: string;
  /** Idempotent. */
  kill(): Promise<void>;
  /** @param appendBytesMax MaxAppendSize; its default where it is not given */
  restart(appendBytesMax?: number): Promise<void>;
}

export async function restartableStore(): Promise<RestartableStore> {
  const file = join(temporaryFolder(), 'store');
  const begin = async (port: number, appendBytesMax?: number) => {
    const log = new StoredLog({ file, ...(appendBytesMax === undefined ? {} : { appendBytesMax }) });
    return { log, store: await startFakeEventStore({ port, log }) };
  };
  let run: Awaited<ReturnType<typeof begin>> | null = await begin(0);
  const { connectionString, port } = run.store;
  const kill = async (): Promise<void> => {
    await run?.store.stop();
    run?.log.close();
    run = null;
  };
  onTestFinished(kill);
  return {
    ...{ connectionString, kill },
    restart: async (appendBytesMax) => {
      await kill();
      run = await begin(port, appendBytesMax);
    },
  };
}
