import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { freePort, type Processes } from '../../fixtures/processes/processes.ts';
import { installedProgram } from '../installed-program.ts';
import { childrenOf } from '../process-usage.ts';
import type { Contender } from './contender.ts';

const WORKER_TRIES_MAX = 40;

/** nginx as it is set up for streams; null where it is not installed (NGINX names one that is elsewhere). */
export async function startNginx(processes: Processes, upstreamPort: number): Promise<Contender | null> {
  const program = installedProgram('nginx');
  if (program === null) return null;
  const port = await freePort();
  const configuration = join(processes.folder, 'nginx.conf');
  writeFileSync(configuration, configurationOf(processes.folder, port, upstreamPort));
  const child = processes.spawn('nginx', [
    program,
    '-c',
    configuration,
    '-p',
    processes.folder,
    '-e',
    join(processes.folder, 'nginx-error.log'),
  ]);
  await processes.untilListening('nginx', port);
  return {
    name: 'nginx',
    port,
    headers: [{ 'x-api-key': 'bench' }],
    pids: await workersOf(child.pid ?? 0),
    needsWarmUp: false,
  };
}

const configurationOf = (folder: string, port: number, upstreamPort: number): string => `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx-error.log warn;
events { worker_connections 8192; }
http {
  access_log off;
  keepalive_timeout 600s;
  keepalive_requests 1000000000;
  client_max_body_size 32m;
  client_body_buffer_size 128k;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((use) => `${use}_temp_path ${folder}/nginx-${use};`).join('\n  ')}
  upstream bench {
    server 127.0.0.1:${upstreamPort};
    keepalive 512;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
  }
  server {
    listen 127.0.0.1:${port} backlog=1024;
    location / {
      proxy_pass http://bench;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;

/** The master listens before its worker is there. */
async function workersOf(master: number): Promise<number[]> {
  for (let tries = 0; tries < WORKER_TRIES_MAX; tries++) {
    const workers = childrenOf(master);
    if (workers.length > 0) return workers;
    await setTimeout(50);
  }
  throw new Error('nginx has no worker');
}
