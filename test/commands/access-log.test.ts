import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { asking, call, post } from '../fixtures/gateway/call.ts';
import { freePort } from '../fixtures/processes/processes.ts';
import { PROGRAM, stop } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** `gateway serve` on a new folder, ready, with its demo account's key, and whatever else it has written on stdout. */
async function serve(...options: string[]) {
  const args = [PROGRAM, '--json', 'serve', '--port', '0', '--data', join(temporaryFolder(), 'data'), ...options];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout });
  const [first] = await once(lines, 'line');
  const more: string[] = [];
  lines.on('line', (line) => more.push(line));
  const { url, key } = JSON.parse(String(first)) as { url: string; key: string };
  return { child, lines, more, url, key };
}

/** More than a pipe and its reader's buffers take, by far. */
const REQUESTS = 3_000;

it('stands on stdout, a line for each request, the last ones written when the gateway stops; without keys or content', async () => {
  const { child, more, lines, ...one } = await serve();
  const said = asking('svc-mock', { messages: [{ role: 'user', content: 'a private matter' }] });
  expect((await post(one, '/v1/messages', said)).status).toBe(200);
  expect((await post({ ...one, key: 'sk-svc-of-a-stranger' }, '/v1/messages', said)).status).toBe(401);
  expect((await call(one.url, '/healthz')).status).toBe(200);
  const closed = once(lines, 'close');
  expect(await stop(child)).toBe(0);
  await closed;
  expect(more.map((line) => JSON.parse(line))).toEqual([
    { level: 30, time: expect.any(Number), request: expect.any(Object) },
    expect.any(Object),
  ]);
  expect(more.map((line) => JSON.parse(line).request)).toEqual([
    expect.objectContaining({
      ...{ status: 200, model: 'svc-mock', upstream: 'mock', outcome: 'completed', costUsd: '0.000000' },
      accountId: 'acct_demo',
    }),
    expect.objectContaining({ status: 401, code: 'invalid_credential' }),
  ]);
  for (const secret of [one.key, 'stranger', 'private matter']) expect(more.join('\n')).not.toContain(secret);
});

/** A process that writes so many lines at once, of 250 bytes each, and ends with them. */
function endsWith(lines: number) {
  const module = fileURLToPath(new URL('../../proxy/program/program-logger.ts', import.meta.url));
  const program = `import { accessLogPlace, programLogger } from ${JSON.stringify(module)};
    // As the program does, after which nothing that is written there waits.
    process.stdout.on('error', () => process.exit(1));
    const place = accessLogPlace(programLogger({ logLevel: 'info' }));
    const text = 'x'.repeat(222);
    for (let line = 0; line < ${lines}; line++) place.writeLater(() => JSON.stringify({ line: 100_000 + line, text }) + '\\n');
    process.exit(0);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const numbersOf = (written: string): number[] =>
    written
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).line - 100_000);
  return { child, said: text(child.stderr), numbersOf };
}

/** Less than waits at most, and what a reader takes in a second or two. */
const LINES_AT_END = 3_000;

it('is written to its end however the process ends, as slowly as it is read', async () => {
  const { child, said, numbersOf } = endsWith(LINES_AT_END);
  let written = '';
  for await (const piece of child.stdout) {
    written += String(piece);
    // A second in all; no wait of its writer is as long as it waits where nothing is taken.
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(numbersOf(written)).toEqual([...Array(LINES_AT_END).keys()]);
  expect(await said).toBe('');
});

it('of which nobody takes the last lines when the process ends is told in its log, with how many they were', async () => {
  const { child, said, numbersOf } = endsWith(LINES_AT_END);
  const [told] = (await said)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const kept = numbersOf(await text(child.stdout)).length;
  expect(kept).toBeLessThan(LINES_AT_END);
  expect(told).toMatchObject({ level: 40, lines: LINES_AT_END - kept, msg: expect.stringContaining('access log') });
});

it('is not kept where the configuration says so', async () => {
  const file = join(temporaryFolder(), 'gateway.json');
  writeFileSync(file, JSON.stringify({ accessLog: 'none', logLevel: 'silent' }));
  const { child, more, lines, url } = await serve('--config', file);
  expect((await call(url, '/me')).status).toBe(401);
  const closed = once(lines, 'close');
  expect(await stop(child)).toBe(0);
  await closed;
  expect(more).toEqual([]);
});

const AT_ONCE = 50;

/** So many that are refused, each with its line. */
const refusedAt = (url: string, requests: number) =>
  Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let count = 0; count < requests / AT_ONCE; count++) expect((await call(url, '/me')).status).toBe(401);
    }),
  );

it('holds up neither a request nor the end where nobody reads it', async () => {
  const { child, lines, more, url } = await serve();
  lines.pause();
  child.stdout.pause();
  await refusedAt(url, REQUESTS);
  expect(await stop(child)).toBe(0);
  expect(more.length).toBeLessThan(REQUESTS);
});

it('keeps 1 MiB where nobody reads it, counts what is lost beyond that, and says how much once somebody does', async () => {
  const port = await freePort();
  const file = join(temporaryFolder(), 'gateway.json');
  writeFileSync(file, JSON.stringify({ metrics: { serve: { port } }, logLevel: 'silent' }));
  const { child, lines, more, url } = await serve('--config', file);
  const lost = async (): Promise<number> => {
    const { text: page } = await call(`http://127.0.0.1:${port}`, '/metrics');
    return Number(/^gateway_access_log_lost_total (\d+)$/m.exec(page)?.[1]);
  };
  lines.pause();
  child.stdout.pause();
  let requests = 0;
  for (; (await lost()) === 0; requests += AT_ONCE) await refusedAt(url, AT_ONCE);
  const inAll = await lost();
  lines.resume();
  const found = () => more.map((line) => JSON.parse(line) as { readonly lines?: number });
  const told = () => found().reduce((sum, one) => sum + (one.lines ?? 0), 0);
  const kept = () => found().filter((one) => one.lines === undefined).length;
  await expect.poll(() => kept() + told()).toBe(requests);
  expect([told(), await lost()]).toEqual([inAll, inAll]);
  const keptBytes = more.reduce((sum, line) => sum + line.length + 1, 0);
  expect(keptBytes).toBeGreaterThan(1_024 ** 2);
  // With what a pipe and its reader's buffers take besides.
  expect(keptBytes).toBeLessThan(2 * 1_024 ** 2);
  expect(await stop(child)).toBe(0);
});

it('whose reader is gone is told of once in the log of the program, which serves on', async () => {
  const args = [PROGRAM, '--json', 'serve', '--port', '0', '--data', join(temporaryFolder(), 'data')];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [first] = await once(createInterface({ input: child.stdout }), 'line');
  const one = JSON.parse(String(first)) as { url: string; key: string };
  const said: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
  const ofIt = () => said.filter((line) => line.includes('the access log cannot be written'));
  child.stdout.destroy();
  expect((await post(one, '/v1/messages', asking('svc-mock'))).status).toBe(200);
  await expect
    .poll(() => ofIt().map((line) => JSON.parse(line)))
    .toEqual([expect.objectContaining({ level: 50, err: expect.objectContaining({ code: 'EPIPE' }) })]);
  expect((await post(one, '/v1/messages', asking('svc-mock'))).status).toBe(200);
  expect(await stop(child)).toBe(0);
  expect(ofIt()).toHaveLength(1);
});
