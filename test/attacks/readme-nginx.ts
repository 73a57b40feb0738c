import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nginxProgram } from '../bench/contenders/nginx.ts';
import { freePort, type Processes } from '../bench/processes.ts';

const README = new URL('../../README.md', import.meta.url);

/**
 * nginx with the README's own configuration before a gateway; its address, or null where nginx is not installed. Of the
 * example only what belongs to its host is replaced: certificate, name, address and where the gateway is.
 */
export async function startReadmeNginx(processes: Processes, gatewayUrl: string): Promise<string | null> {
  const program = nginxProgram();
  if (program === null) return null;
  const port = await freePort();
  const { folder } = processes;
  const file = join(folder, 'readme-nginx.conf');
  writeFileSync(file, configurationOf(folder, onThisHost(nginxExample(), port, gatewayUrl)));
  processes.spawn('readme-nginx', [program, '-c', file, '-p', folder, '-e', join(folder, 'readme-nginx-error.log')]);
  await processes.untilListening('readme-nginx', port);
  return `http://127.0.0.1:${port}`;
}

/** The `server` block of the README. */
export function nginxExample(): string {
  const block = /^ {4}server \{\n(?: {4}.*\n|\n)*? {4}\}\n/m.exec(readFileSync(README, 'utf8'))?.[0];
  if (block === undefined) throw new Error('the README has no nginx example');
  return block;
}

function onThisHost(example: string, port: number, gatewayUrl: string): string {
  const replaced = example
    .replace(/listen 443 ssl;/, `listen 127.0.0.1:${port};`)
    .replace(/^.*ssl_certificate.*\n/gm, '')
    .replace(/proxy_pass http:\/\/127\.0\.0\.1:8787;/, `proxy_pass ${gatewayUrl};`);
  if (!replaced.includes(`:${port};`) || !replaced.includes(gatewayUrl) || /ssl/.test(replaced))
    throw new Error('the nginx example of the README is not the one that this test knows');
  return replaced;
}

const configurationOf = (folder: string, server: string): string => `
daemon off;
worker_processes 1;
pid ${folder}/readme-nginx.pid;
error_log ${folder}/readme-nginx-error.log warn;
events { worker_connections 4096; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((use) => `${use}_temp_path ${folder}/readme-${use};`).join('\n  ')}
${server}
}
`;
