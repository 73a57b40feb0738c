import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that systems give to outgoing connections: one of these is not taken by chance while a broker is dead. */
const FIRST = 18_000;
const LAST = 31_999;
const TRIES_MAX = 1_000;

/** Ports of the loopback that nothing listens at now, each another one. */
export async function freePorts(count: number): Promise<number[]> {
  const free = new Set<number>();
  for (let tries = 0; free.size < count; tries++) {
    if (tries === TRIES_MAX) throw new Error(`no ${count} free ports from ${FIRST} to ${LAST} in ${tries} tries`);
    const port = FIRST + Math.floor(Math.random() * (LAST + 1 - FIRST));
    if (await isFree(port)) free.add(port);
  }
  return [...free];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
