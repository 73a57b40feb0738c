import { fileURLToPath } from 'node:url';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { readyLine } from '../ready-line.ts';
import type { Contender } from './contender.ts';

const PROGRAM = fileURLToPath(new URL('../floor/main.ts', import.meta.url));

/** Those that ours had when the goals were set: ours may change, what it is compared with may not. */
export const FLOOR_FLAGS = ['--max-semi-space-size=64'];

/** Bare Fastify and undici. */
export async function startFloor(processes: Processes, upstreamPort: number): Promise<Contender> {
  const command = [process.execPath, ...FLOOR_FLAGS, PROGRAM, `http://127.0.0.1:${upstreamPort}`];
  const child = processes.spawn('floor', command, { environment: { NODE_ENV: 'production' }, stdout: 'pipe' });
  const { url } = await readyLine<{ url: string }>(child, processes, 'floor');
  return {
    name: 'floor',
    port: Number(new URL(url).port),
    headers: [{ 'x-api-key': 'bench' }],
    pids: [child.pid ?? 0],
    needsWarmUp: true,
  };
}
