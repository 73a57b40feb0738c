import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installedProgram } from '../bench/installed-program.ts';
import { freePort, type Processes } from '../fixtures/processes/processes.ts';

const README = new URL('../../README.md', import.meta.url);

/**
 * What the README puts before a gateway for TLS, with the README's own configuration: it starts one, and resolves with its
 * address, or null where the program is not installed. Of an example only what belongs to its host is replaced:
 * certificate, name, address and where the gateway is.
 */
export const README_FRONTS = { nginx: startReadmeNginx, caddy: startReadmeCaddy } as const satisfies Record<
  string,
  (processes: Processes, gatewayUrl: string) => Promise<string | null>
>;

async function startReadmeNginx(processes: Processes, gatewayUrl: string): Promise<string | null> {
  const program = installedProgram('nginx');
  if (program === null) return null;
  const port = await freePort();
  const { folder } = processes;
  const file = join(folder, 'readme-nginx.conf');
  writeFileSync(file, configurationOf(folder, nginxOnThisHost(port, gatewayUrl)));
  processes.spawn('readme-nginx', [program, '-c', file, '-p', folder, '-e', join(folder, 'readme-nginx-error.log')]);
  await processes.untilListening('readme-nginx', port);
  return `http://127.0.0.1:${port}`;
}

async function startReadmeCaddy(processes: Processes, gatewayUrl: string): Promise<string | null> {
  const program = installedProgram('caddy');
  if (program === null) return null;
  const port = await freePort();
  const { folder } = processes;
  const file = join(folder, 'readme-Caddyfile');
  const site = exampleOf('gateway.example')
    .replace('gateway.example {', `http://:${port} {\n        bind 127.0.0.1`)
    .replace('127.0.0.1:8787', new URL(gatewayUrl).host);
  // By whatever name it is called, as nginx's only server is.
  if (!site.includes(`:${port} {`) || !site.includes(new URL(gatewayUrl).host))
    throw new Error('the caddy example of the README is not the one that this test knows');
  writeFileSync(file, `{\n  admin off\n}\n${site}`);
  processes.spawn('readme-caddy', [program, 'run', '--config', file, '--adapter', 'caddyfile'], {
    // It keeps what it makes in its owner's home otherwise.
    environment: { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  await processes.untilListening('readme-caddy', port);
  return `http://127.0.0.1:${port}`;
}

/** The block of the README that begins with a word. */
function exampleOf(word: string): string {
  const indented = new RegExp(`^ {4}${word} \\{\\n(?: {4}.*\\n|\\n)*? {4}\\}\\n`, 'm');
  const block = indented.exec(readFileSync(README, 'utf8'))?.[0];
  if (block === undefined) throw new Error(`the README has no example of ${word}`);
  return block;
}

function nginxOnThisHost(port: number, gatewayUrl: string): string {
  const replaced = exampleOf('server')
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
