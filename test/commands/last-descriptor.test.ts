import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { asking } from '../fixtures/gateway/call.ts';
import { inOwnProcess, type OwnProcess } from '../fixtures/gateway/own-process.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { stopInOrder } from '../fixtures/processes/child-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { canLimit, takeAllDescriptors } from '../shortages/descriptor-limit.ts';

const PRELOAD = fileURLToPath(new URL('held-thread-preload.ts', import.meta.url));

if (!canLimit) console.info('skipped: last descriptor (the limits of a process cannot be changed here)');

/** Asks by one connection that stays, since it takes no other. */
function askerOf({ url, key }: OwnProcess) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return async (path: string, body?: object): Promise<number> => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const asked = request(new URL(path, url), { method: body === undefined ? 'GET' : 'POST', agent, headers });
    asked.end(body === undefined ? undefined : JSON.stringify(body));
    const [answered] = await once(asked, 'response');
    await text(answered);
    return answered.statusCode;
  };
}

/** What is waited for comes, or the process ends, and has said why. */
const unlessEnded = ({ program, logged }: OwnProcess, scene: Promise<void>): Promise<void> =>
  Promise.race([
    scene,
    program.ended.then((code) => {
      throw new Error(`the gateway has ended with ${code}:\n${logged()}`);
    }),
  ]);

it.runIf(canLimit)(
  'a gateway that has no descriptor for a thread or a process that it needs goes on without what they do, and does it all once there are some',
  async () => {
    const copyTo = join(temporaryFolder(), 'seals');
    const before = await startTestGateway({ settings: { seals: { events: 1, copyTo } } });
    await before.stop();
    const held = join(temporaryFolder(), 'held');
    writeFileSync(held, '');
    const environment = { HELD_THREAD: 'view-store-worker.ts', HELD_THREAD_FILE: held };
    const gateway = await inOwnProcess(before, { preload: PRELOAD, environment });
    const ask = askerOf(gateway);
    const copied = (): number => readFileSync(copyTo, 'utf8').split('\n').length;
    const scene = async (): Promise<void> => {
      const message = asking('svc-mock');
      expect(await ask('/v1/messages', message)).toBe(200);
      await expect.poll(copied).toBeGreaterThan(1);
      const giveBack = takeAllDescriptors(gateway.program.child.pid ?? 0);
      const before = copied();
      // Its module cannot be opened.
      rmSync(held);
      expect(await ask('/v1/messages', message)).toBe(200);
      await expect.poll(gateway.logged).toMatch(/the views cannot be written for now/);
      await expect.poll(gateway.logged).toMatch(/"spawn [^"]* EMFILE".*seals could not be written outside/);
      expect(await ask('/healthz')).toBe(200);
      giveBack();
      await expect.poll(gateway.logged).toMatch(/the views are written again, with what their file lacked/);
      expect(await ask('/v1/messages', message)).toBe(200);
      await expect.poll(copied).toBeGreaterThan(before + 1);
    };
    await unlessEnded(gateway, scene());
    await stopInOrder(gateway.program);
  },
);
