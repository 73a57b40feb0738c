import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { postMessage, recorded, startPost } from '../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { editFile } from '../fixtures/ledger/edited-file.ts';
import { sealLog } from '../fixtures/ledger/seal-log.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { wait } from '../upstream/answer.ts';
import { defaultAnswer } from '../upstream/default-answer.ts';
import { readKept } from '../written-before/kept-state.ts';

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const SECRETS = /PRIVATE KEY|upstream-secret-key/;
const CLIENTS = 4;

it('a backup of a gateway under load has every request that had ended; restored, each of them is billed once', async () => {
  const { gateway, upstream } = await startOnUpstream(onTestFinished);
  const config = join(gateway.data, 'gateway.json');
  const gate = Promise.withResolvers<void>();
  upstream.answerWith((request) => {
    const answer = defaultAnswer(request);
    return request.body.includes('"max_tokens":7,') ? [wait(gate.promise), ...answer] : answer;
  });
  const underWay = startPost(gateway, { maxTokens: 7 });
  await upstream.seen(0);
  const ended: string[] = [];
  let isLoaded = true;
  const load = async (): Promise<void> => {
    while (isLoaded) {
      const answer = await postMessage(gateway);
      await answer.rest();
      ended.push(String(answer.headers['request-id']));
    }
  };
  const clients = Array.from({ length: CLIENTS }, load);
  await upstream.seen(20);
  const before = [...ended];
  const to = join(temporaryFolder(), 'backup');
  const manifest = await runHereForJson('--config', config, 'ledger', 'backup', to);
  isLoaded = false;
  await Promise.all(clients);
  gate.resolve();
  await (await underWay.answered).rest();
  const { usages } = await recorded(gateway);
  await gateway.stop();

  expect(manifest).toMatchObject({
    ledger: { generation: 1, head: { stream: 'account-acct_test' } },
    keys: expect.arrayContaining([{ use: 'providers.test', name: 'TEST_UPSTREAM_KEY' }]),
    leftOut: expect.arrayContaining([
      { name: 'seal-key', why: 'a secret: keep it elsewhere' },
      { name: 'views.db', why: 'made anew from the ledger' },
    ]),
  });
  expect(filesOf(to).filter((file) => SECRETS.test(readFileSync(file, 'latin1')))).toEqual([]);

  const data = join(temporaryFolder(), 'data');
  const said = await runHere('--config', config, '--data', data, 'ledger', 'restore', to);
  expect(said).toMatchObject({ exitCode: 0, stderr: '' });
  expect(said.stdout).toMatch(/to be put back by hand: TEST_UPSTREAM_KEY .*\n.*seal-key/);
  const again = await startTestGateway({ data, upstreamUrl: upstream.url });
  const restored = (await recorded(again)).usages;
  await again.stop();
  const ids = restored.map(({ requestId }) => requestId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(usages.map(({ requestId }) => requestId)).toEqual(expect.arrayContaining(ids));
  expect(ids).toEqual(expect.arrayContaining(before));
  // What was under way at that instant, and nothing else, has no ending there.
  const open = restored.filter(({ outcome }) => outcome === 'recovered').map(({ requestId }) => requestId);
  expect(open.length).toBeGreaterThan(0);
  expect(open.length).toBeLessThanOrEqual(1 + CLIENTS);
  expect(before.filter((id) => open.includes(id as never))).toEqual([]);
  expect(await runHere('--config', config, '--data', data, 'ledger', 'verify', '--all')).toMatchObject({ exitCode: 0 });
});

/** A backup of what an earlier program has left, with requests in its journal. */
async function backedUp(): Promise<{ data: string; to: string }> {
  const data = join(readKept('76ed563', 'sqlite', 'whole').folder, 'data');
  const to = join(temporaryFolder(), 'backup');
  expect(await runHere('--data', data, 'ledger', 'backup', to)).toMatchObject({ exitCode: 0, stderr: '' });
  return { data, to };
}

const restoring = (to: string, data: string) => runHere('--data', data, 'ledger', 'restore', to);

it('what a backup has comes back to the byte, and nothing is left beside it', async () => {
  const { data, to } = await backedUp();
  const restored = join(temporaryFolder(), 'new', 'data');
  expect(await restoring(to, restored)).toMatchObject({
    ...{ exitCode: 0, stdout: expect.not.stringContaining('to be put back by hand') },
  });
  const { files } = JSON.parse(readFileSync(join(to, 'manifest.json'), 'utf8'));
  const paths: string[] = files.map(({ path }: { path: string }) => path);
  expect(paths).toEqual(expect.arrayContaining(['ledger.db', 'proxy-id']));
  expect(paths.some((path) => path.startsWith('journal/'))).toBe(true);
  for (const path of paths) {
    expect(existsSync(join(restored, path)), path).toBe(true);
    if (path !== 'ledger.db') expect(readFileSync(join(to, path))).toEqual(readFileSync(join(data, path)));
  }
  expect(readdirSync(restored).filter((name) => name.startsWith('restore.'))).toEqual([]);
  expect(existsSync(`${to}.partial`)).toBe(false);
});

it('a backup goes into a new folder alone, and beside what another has left half made into none', async () => {
  const { data, to } = await backedUp();
  const before = readFileSync(join(to, 'manifest.json'));
  const again = await runHere('--data', data, 'ledger', 'backup', to);
  expect(again).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`${to}: is there already`) });
  expect(readFileSync(join(to, 'manifest.json'))).toEqual(before);
  mkdirSync(`${to}-2.partial`);
  expect(await runHere('--data', data, 'ledger', 'backup', `${to}-2`)).toMatchObject({
    ...{ exitCode: 2, stderr: expect.stringContaining('-2.partial: is there already') },
  });
  expect(await runHere('--data', data, 'ledger', 'backup', join(`${to}-none`, 'monday'))).toMatchObject({
    ...{ exitCode: 2, stderr: expect.stringContaining(`the folder ${to}-none is not there: make it first`) },
  });
});

it.each([
  ['a byte of the ledger', 'ledger.db', /ledger\.db is not as it was backed up/],
  ['a byte of a note', 'proxy-id', /proxy-id is not as it was backed up/],
])('%s that is not as it was is found before anything is restored', async (_what, name, told) => {
  const { to } = await backedUp();
  const bytes = readFileSync(join(to, name));
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 2) ^ 1, bytes.length - 2);
  writeFileSync(join(to, name), bytes);
  const data = join(temporaryFolder(), 'data');
  const said = await restoring(to, data);
  expect(said).toMatchObject({ exitCode: 5, stdout: '', stderr: expect.stringMatching(told) });
  expect(existsSync(data)).toBe(false);
});

it('a file that is missing, one too many, and a manifest that is none are faults, too', async () => {
  const { to } = await backedUp();
  const [less, more, other] = [`${to}-less`, `${to}-more`, `${to}-other`];
  for (const folder of [less, more, other]) cpSync(to, folder, { recursive: true });
  rmSync(join(less, 'proxy-id'));
  writeFileSync(join(more, 'journal', '0000000009.journal'), '');
  writeFileSync(join(other, 'manifest.json'), '{"form":2}');
  const data = join(temporaryFolder(), 'data');
  expect(await restoring(less, data)).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('is not there') });
  expect(await restoring(more, data)).toMatchObject({
    exitCode: 5,
    stderr: expect.stringContaining('none of the backup’s: its manifest has no such file; move it away'),
  });
  expect(await restoring(other, data)).toMatchObject({
    exitCode: 5,
    stderr: expect.stringContaining('no manifest that'),
  });
  expect(await restoring(`${to}-none`, data)).toMatchObject({
    exitCode: 2,
    stderr: `gateway: ${to}-none: does not exist\n`,
  });
  expect(await restoring(temporaryFolder(), data)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('is no backup: it has no manifest.json'),
  });
  expect(await restoring(to, join(to, 'manifest.json'))).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('manifest.json is no folder'),
  });
  expect(existsSync(data)).toBe(false);
});

it('a ledger is restored into an empty folder alone, in which the key of seals may wait', async () => {
  const { data, to } = await backedUp();
  const said = await restoring(to, data);
  expect(said).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('is not empty') });
  const empty = temporaryFolder();
  writeFileSync(join(empty, 'seal-key'), 'kept elsewhere');
  expect(await restoring(to, empty)).toMatchObject({ exitCode: 0 });
  expect(readFileSync(join(empty, 'seal-key'), 'utf8')).toBe('kept elsewhere');
});

it('neither of a backup and a data folder is made within the other, also by a link', async () => {
  const { data, to } = await backedUp();
  const link = join(temporaryFolder(), 'link');
  symlinkSync(data, link);
  for (const within of [join(data, 'backup'), join(link, 'backup')])
    expect(await runHere('--data', data, 'ledger', 'backup', within)).toMatchObject({
      ...{ exitCode: 2, stderr: expect.stringContaining('is in the data folder') },
    });
  const said = await restoring(to, join(to, 'new', 'data'));
  expect(said).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('is in the backup') });
  expect(readdirSync(data)).not.toContain('backup');
  expect(readdirSync(to)).not.toContain('new');
});

it('what is restored is compared with its seals, and the key that made them is asked for', async () => {
  const data = join(readKept('76ed563', 'sqlite', 'ledger').folder, 'data');
  const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
  await sealLog(log, data);
  await log.close();
  const [to, damaged] = [join(temporaryFolder(), 'whole'), join(temporaryFolder(), 'damaged')];
  const said = await runHere('--data', data, 'ledger', 'backup', to);
  expect(said.stdout).toMatch(/sealed up to event \d+ \(seal \d+, SHA-256 [0-9a-f]{64}\)/);
  expect(said.stdout).toMatch(
    /left out: seal-key \(a secret: keep it elsewhere\)\nneeded beside it, and not in it: .*seal-key/,
  );
  const place = join(temporaryFolder(), 'data');
  const restored = await restoring(to, place);
  expect(restored).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('consistent, not anchored') });
  // On this folder, and not on the one that is usual.
  expect(restored.stdout).toContain(`\nnext: gateway serve --data ${place}, which makes`);

  editFile(join(data, 'ledger.db'), (database) =>
    database.exec("UPDATE event SET metadata = metadata || ' ' WHERE position = 5"),
  );
  expect(await runHere('--data', data, 'ledger', 'backup', damaged)).toMatchObject({ exitCode: 0 });
  const told = await restoring(damaged, join(temporaryFolder(), 'data'));
  expect(told).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('not as it was sealed') });
});
