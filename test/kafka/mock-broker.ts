import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { StartedBrokers } from './started-brokers.ts';

const START_MS = 60_000;
const ARGUMENTS = ['-P', '-b', 'mock', '-t', 'unused', '-X', 'test.mock.num.brokers=1', '-X', 'debug=mock'];

/** librdkafka's mock broker, which Debian's kcat has built in; it forgets everything when it ends. Null where there is no kcat. */
export async function startMockBroker(): Promise<StartedBrokers | null> {
  const child = spawn('kcat', ARGUMENTS, { stdio: ['pipe', 'ignore', 'pipe'] });
  const exited = once(child, 'exit').catch(() => undefined);
  const server = await addressOf(child);
  if (server === null) return null;
  return {
    brokers: [server],
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** What the mock says of itself when it starts; null where there is no kcat. */
function addressOf(child: ChildProcess): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const { stderr } = child;
    if (stderr === null) throw new TypeError('no standard error');
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`kcat did not start a mock broker within ${START_MS} ms`));
    }, START_MS);
    child.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (error.code === 'ENOENT') resolve(null);
      else reject(error);
    });
    // It is read to the end, for a full pipe would stop the broker.
    createInterface({ input: stderr }).on('line', (line) => {
      const address = /bootstrap\.servers=([\d.]+:\d+)/.exec(line)?.[1];
      if (address === undefined) return;
      clearTimeout(timer);
      resolve(address);
    });
  });
}
