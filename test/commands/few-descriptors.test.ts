import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { HIGH_LIMITS } from '../fixtures/gateway/high-limits.ts';
import { messageBody } from '../fixtures/gateway/post-message.ts';
import { TEST_CATALOG } from '../fixtures/gateway/start-gateway.ts';
import { runForJson, runProgram, stop } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { message } from '../upstream/message.ts';

const PROGRAM = fileURLToPath(new URL('../../proxy/main.mjs', import.meta.url));
/** A gateway that nobody calls has some 50 of them. */
const DESCRIPTORS = 72;
const WAIT = { timeout: 120_000, interval: 50 };
const ANSWER_MS = 10_000;

/** A provider to which every call needs a connection of its own. */
async function provider(): Promise<string> {
  const server = createServer((asked, answer) => {
    asked.resume().on('end', () => {
      answer.writeHead(200, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify(message()));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function configured(): Promise<string> {
  const folder = temporaryFolder();
  const file = join(folder, 'gateway.json');
  writeFileSync(join(folder, 'catalog.json'), JSON.stringify(TEST_CATALOG));
  const test = { protocol: 'messages', baseUrl: await provider(), apiKeyEnv: 'TEST_UPSTREAM_KEY' };
  // It is asked again and again until it has none left, for as long as that takes on a busy machine.
  const own = { catalog: join(folder, 'catalog.json'), providers: { test }, rateLimits: HIGH_LIMITS };
  const content = { data: join(folder, 'data'), ...own };
  writeFileSync(file, JSON.stringify(content));
  return file;
}

async function serveWithFew(config: string) {
  const script = `ulimit -n ${DESCRIPTORS} && exec "$0" "$@"`;
  const args = ['-c', script, process.execPath, PROGRAM, '--json', 'serve', '--port', '0', '--config', config];
  const env = { ...process.env, TEST_UPSTREAM_KEY: 'a-key' };
  const stderr = join(temporaryFolder(), 'stderr');
  const child = spawn('bash', args, { stdio: ['ignore', 'pipe', openSync(stderr, 'a')], env });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`the gateway has ended with ${code ?? signal}:\n${readFileSync(stderr, 'utf8')}`);
  });
  if (child.stdout === null) throw new Error('its stdout is a pipe');
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  const { url } = JSON.parse(String(line));
  return { child, ended, url: new URL(url), descriptors: () => readdirSync(`/proc/${child.pid}/fd`).length };
}

it.runIf(process.platform === 'linux')(
  'a gateway whose descriptors are all taken by connections serves what needs none, says why it refuses the rest, and is as before when they are gone',
  async () => {
    const config = await configured();
    const { accountId } = await runForJson('account', 'open', '--email', 'a@example.com', '--config', config);
    const issued = await runProgram('key', 'issue', String(accountId), '--key-only', '--config', config);
    const { child, ended, url, descriptors } = await serveWithFew(config);
    // A connection that is there before all others.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    /** Null where its connection was closed, or is not taken: the agent then makes another for the next. */
    const ask = async (path: string, model?: string): Promise<{ status: number; body: string } | null> => {
      const headers = { 'x-api-key': issued.stdout.trim(), 'content-type': 'application/json' };
      const signal = AbortSignal.timeout(ANSWER_MS);
      const asked = request(new URL(path, url), {
        method: model === undefined ? 'GET' : 'POST',
        agent,
        headers,
        signal,
      });
      asked.end(model === undefined ? undefined : messageBody({ model }));
      try {
        const [answered] = await once(asked, 'response');
        return { status: answered.statusCode, body: await text(answered) };
      } catch {
        return null;
      }
    };
    const messageOf = (model: string) => ask('/v1/messages', model);
    const statusOf = async (answered: ReturnType<typeof ask>) => (await answered)?.status;
    const scene = async (): Promise<void> => {
      await expect.poll(() => statusOf(messageOf('opal-medium')), WAIT).toBe(200);
      const before = descriptors();

      const taking: Socket[] = [];
      const fill = async (): Promise<void> => {
        for (let tries = 0; descriptors() < DESCRIPTORS && tries < DESCRIPTORS; tries++) {
          const socket = connect(Number(url.port), url.hostname);
          // One that finds no descriptor left is closed at once.
          socket.on('error', () => undefined);
          taking.push(socket);
          await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
        }
      };
      const whenFull = (path: string, model?: string) => async () => {
        // What the gateway has closed since has room again for one.
        await fill();
        return ask(path, model);
      };
      const refused = { status: 529, body: expect.stringContaining('no file descriptor left') };
      await expect.poll(whenFull('/v1/messages', 'opal-medium'), WAIT).toMatchObject(refused);
      await expect.poll(whenFull('/v1/messages', 'svc-mock'), WAIT).toMatchObject({ status: 200 });
      await expect.poll(whenFull('/healthz'), WAIT).toMatchObject({ status: 200 });

      for (const socket of taking) socket.destroy();
      await expect.poll(() => statusOf(messageOf('opal-medium')), WAIT).toBe(200);
      // All that was taken is back, but for a connection or two that are there anew.
      await expect.poll(descriptors, WAIT).toBeLessThanOrEqual(before + 3);
      expect((await fetch(new URL('/healthz', url))).status).toBe(200);
    };
    await Promise.race([scene(), ended]);
    agent.destroy();
    expect(await stop(child)).toBe(0);
  },
);
