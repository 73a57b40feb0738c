import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LedgerLostError } from '../../ledger/identity/ledger-lost.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const PROGRAM = fileURLToPath(new URL('../../proxy/main.mjs', import.meta.url));
const ENDS = ['', '-wal', '-shm'];
const SOON = { timeout: 60_000 };

const fileOf = ({ data }: Pick<TestGateway, 'data'>): string => join(data, 'ledger.db');

async function start(data = temporaryFolder(), logLines: string[] = []): Promise<TestGateway> {
  return endedLater(await startTestGateway({ data, logLines, clock: Date.now, monotonic: () => performance.now() }));
}

/** A gateway with an account, and a copy of its ledger as it was when it was last stopped. */
async function startWithBackup(logLines: string[] = []): Promise<{ gateway: TestGateway; backup: string }> {
  const first = await start();
  await first.stop();
  const backup = join(temporaryFolder(), 'backup.db');
  copyFileSync(fileOf(first), backup);
  return { gateway: await start(first.data, logLines), backup };
}

async function ask(gateway: TestGateway): Promise<string> {
  const answer = await postMessage(gateway);
  await answer.rest();
  expect(answer.status).toBe(200);
  return String(answer.headers['request-id']);
}

async function readyz({ url }: Pick<TestGateway, 'url'>): Promise<Record<string, unknown>> {
  return (await (await fetch(`${url}/readyz`)).json()) as Record<string, unknown>;
}

async function usagesOf(gateway: TestGateway): Promise<string[]> {
  const events = await gateway.events();
  return events.flatMap((event) => (event.type === 'UsageRecorded' ? [event.data.requestId] : [])).toSorted();
}

function remove(path: string): void {
  for (const end of ENDS) rmSync(path + end, { force: true });
}

function move(from: string, to: string): void {
  for (const end of ENDS) if (existsSync(from + end)) renameSync(from + end, to + end);
}

describe('a ledger that is removed under a running gateway', () => {
  it('is an outage: usage goes to the journal, and to the very file when it is back', async () => {
    const logLines: string[] = [];
    const gateway = await start(undefined, logLines);
    const before = await ask(gateway);
    await gateway.gateway.process.settlement.idle();
    const elsewhere = join(gateway.data, 'elsewhere.db');
    move(fileOf(gateway), elsewhere);
    await expect.poll(() => readyz(gateway), SOON).toMatchObject({ ok: true, degraded: expect.stringMatching(/away/) });
    const during = [await ask(gateway), await ask(gateway)];
    const ERROR = 50;
    const told = logLines.map((line) => JSON.parse(line)).filter(({ level }) => level === ERROR);
    expect(told[0].reason).toMatch(/ledger\.db is not at its place any more/);
    expect(existsSync(fileOf(gateway))).toBe(false);
    move(elsewhere, fileOf(gateway));
    await expect.poll(() => readyz(gateway), SOON).toEqual({ ok: true });
    expect(await usagesOf(gateway)).toEqual([before, ...during].toSorted());
  });
});

describe('a ledger that is replaced under a running gateway', () => {
  it('is not served on, and what was not in it is in the journal', async () => {
    const { gateway, backup } = await startWithBackup();
    remove(fileOf(gateway));
    await expect.poll(() => readyz(gateway), SOON).toMatchObject({ degraded: expect.any(String) });
    const during = [await ask(gateway), await ask(gateway)];
    copyFileSync(backup, fileOf(gateway));
    const reason = 'the ledger was replaced while it was open; the log of this gateway says why';
    await expect.poll(() => readyz(gateway), SOON).toEqual({ ok: false, reason });
    expect((await postMessage(gateway)).status).toBe(529);
    await gateway.stop();
    // Nothing but what the gateway has in its journal is new since the backup.
    const again = await start(gateway.data);
    expect(await usagesOf(again)).toEqual(during.toSorted());
  });

  it('is refused at the next start where it lacks what was in the one before', async () => {
    const { gateway, backup } = await startWithBackup();
    await ask(gateway);
    await gateway.gateway.process.settlement.idle();
    await gateway.gateway.process.projections.whenWritten();
    remove(fileOf(gateway));
    copyFileSync(backup, fileOf(gateway));
    await expect.poll(() => readyz(gateway), SOON).toMatchObject({ ok: false });
    await gateway.stop();
    await expect(start(gateway.data)).rejects.toThrow(LedgerLostError);
  });

  it('ends the program with code 3 and a message that names the file', async () => {
    const data = temporaryFolder();
    const child: ChildProcess = spawn(process.execPath, [PROGRAM, '--json', '--data', data, 'serve', '--port', '0'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new Error('the gateway has no pipes');
    const said = text(stderr);
    const ended = once(child, 'close');
    await Promise.race([once(stdout, 'data'), ended]);
    const file = join(data, 'ledger.db');
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
    expect((await ended)[0]).toBe(3);
    expect(await said).toMatch(/^gateway: \S*ledger\.db was replaced while it was open; .*\n.*journal/m);
  });
});
