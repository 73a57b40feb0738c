import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort, type Processes } from '../../fixtures/processes/processes.ts';
import type { Contender } from './contender.ts';

const FOLDER = fileURLToPath(new URL('../portkey/', import.meta.url));
const PROGRAM = `${FOLDER}node_modules/@portkey-ai/gateway/build/start-server.js`;

/** The nearest peer, from a package of its own that is installed when it is first needed. */
export async function startPortkey(processes: Processes, upstreamPort: number): Promise<Contender> {
  if (!existsSync(PROGRAM)) install();
  const port = await freePort();
  const command = [process.execPath, PROGRAM, `--port=${port}`, '--headless'];
  const child = processes.spawn('portkey', command, { environment: { NODE_ENV: 'production' } });
  await processes.untilListening('portkey', port);
  return {
    name: 'portkey',
    port,
    headers: [
      {
        'x-api-key': 'bench',
        'x-portkey-provider': 'anthropic',
        'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
      },
    ],
    pids: [child.pid ?? 0],
    needsWarmUp: true,
  };
}

function install(): void {
  process.stderr.write('bench: installing @portkey-ai/gateway into test/bench/portkey …\n');
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
