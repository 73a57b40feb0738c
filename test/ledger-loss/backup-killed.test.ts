import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { withLogFile } from '../../ledger/event-log/sqlite/log-file.ts';
import { type PostTarget, postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { GATEWAY_PROGRAM } from '../fixtures/processes/gateway-command.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const PRELOAD = fileURLToPath(new URL('./killed-at-preload.ts', import.meta.url));

/** A command in a process of its own that does not come to its end. */
async function killedAt(instant: string, ...args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, ['--import', PRELOAD, GATEWAY_PROGRAM, ...args], {
    ...{ stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, KILLED_AT: instant } },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect(await once(child, 'exit'), instant).toEqual([null, 'SIGKILL']);
}

const post = async (gateway: PostTarget): Promise<number> => {
  const answer = await postMessage(gateway);
  await answer.rest();
  return answer.status;
};

const fresh = (name: string): string => join(temporaryFolder(), name);
const eventsIn = (file: string) => withLogFile(file, (log) => Array.fromAsync(log.readAll()));

it('a backup or a restore that is killed anywhere leaves nothing that could be taken for whole, and is done again', async () => {
  const { gateway, upstream } = await startOnUpstream(onTestFinished);
  const config = join(gateway.data, 'gateway.json');
  for (let count = 0; count < 3; count++) expect(await post(gateway)).toBe(200);
  await recorded(gateway);

  // The gateway goes on meanwhile, and a backup that has its name is whole.
  const backups = ['copyFileSync .journal', 'exec PRAGMA journal_mode = DELETE', 'renameSync .partial'];
  await Promise.all(
    backups.map(async (instant) => {
      const to = fresh('backup');
      await killedAt(instant, '--config', config, 'ledger', 'backup', to);
      expect(existsSync(to), instant).toBe(false);
      // The journal before the ledger: a request that is settled and forgotten in between is in one of both, or in both.
      const partial = (name: string) => existsSync(join(`${to}.partial`, name));
      if (instant.startsWith('copyFileSync')) expect(partial('ledger.db')).toBe(false);
      else expect(partial('journal')).toBe(true);
      expect(await runHere('--config', config, 'ledger', 'backup', to), instant).toMatchObject({
        ...{ exitCode: 2, stderr: expect.stringContaining('.partial: is there already') },
      });
    }),
  );
  expect(await post(gateway)).toBe(200);
  const { usages } = await recorded(gateway);
  const to = fresh('backup');
  expect(await runHere('--config', config, 'ledger', 'backup', to)).toMatchObject({ exitCode: 0 });
  await gateway.stop();
  const events = await eventsIn(join(to, 'ledger.db'));

  const plain = join(temporaryFolder(), 'gateway.json');
  writeFileSync(plain, JSON.stringify({ listen: { port: 0 } }));
  const instants = [
    'copyFileSync ledger.db',
    'renameSync restore.partial',
    'renameSync proxy-id',
    'renameSync restore.whole/ledger.db',
    'rmdirSync restore.whole',
  ];
  const restored = await Promise.all(
    instants.map(async (instant) => {
      const data = fresh('data');
      const alone = ['--config', config, '--data', data, 'ledger', 'restore', to];
      const restoring = [...alone, '--from-copy', join(to, 'ledger.db')];
      await killedAt(instant, ...restoring);
      // Nobody begins a new ledger there, or goes on with a part.
      const begun = await runHere('--config', config, '--data', data, 'account', 'open', '--email', 'ada@example.com');
      expect(begun, instant).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('is being restored here') });
      expect(await runHere('--config', plain, '--data', data, 'serve'), instant).toEqual({ ...begun, exitCode: 3 });
      // What it was made of is what its end has to name.
      if (instant.startsWith('renameSync proxy-id'))
        expect(await runHere(...alone)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--from-copy') });
      expect(await runHere(...restoring), instant).toMatchObject({ exitCode: 0, stderr: '' });
      expect(
        readdirSync(data).filter((name) => name.startsWith('restore.')),
        instant,
      ).toEqual([]);
      expect(await eventsIn(join(data, 'ledger.db')), instant).toEqual(events);
      return data;
    }),
  );
  for (const data of restored.slice(1, 3)) {
    const again = await startTestGateway({ data, upstreamUrl: upstream.url });
    expect((await recorded(again)).usages).toEqual(usages);
    expect(await post({ url: again.url, key: gateway.key })).toBe(200);
    await again.stop();
  }
});
