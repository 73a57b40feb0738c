import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { CATALOG_STREAM, NO_STREAM, type StreamName } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { LedgerLostError } from '../../ledger/identity/ledger-lost.ts';
import { openJournal } from '../../ledger/journal/open-journal.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { NetworkPath } from '../eventstoredb/network-path.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { TEST_CATALOG } from '../fixtures/gateway/start-gateway.ts';
import { gatewayCommand } from '../fixtures/processes/gateway-command.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { head, silence } from '../upstream/answer.ts';
import { startUpstream } from '../upstream/upstream.ts';

const HELD = fileURLToPath(new URL('hold-process-preload.ts', import.meta.url));
const EXIT_USAGE = 2;
const EXIT_REFUSED = 3;
const EXIT_UNAVAILABLE = 4;

/** The program as a process that something holds open for ever. */
function startHeld(...args: readonly string[]) {
  const child = spawn(process.execPath, ['--import', HELD, PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ENDS_KEY: 'upstream' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, stderr: text(child.stderr), ended: once(child, 'exit') };
}

it('a command that has failed is gone with its code, whatever holds its process', async () => {
  const { stderr, ended } = startHeld('--config', '/no/such/file.yaml', 'account', 'list');
  expect(await ended).toEqual([EXIT_USAGE, null]);
  expect(await stderr).toMatch(/^gateway: \/no\/such\/file\.yaml:\n .*does not exist.*\n$/);
}, 60_000);

/** A gateway over a log that can be frozen, with a provider whose answers never end. */
async function site() {
  const folder = temporaryFolder();
  const store = endedLater(await startFakeEventStore());
  const path = endedLater(await NetworkPath.open(store.port));
  const upstream = endedLater(await startUpstream({ script: [head(), silence] }));
  const file = join(folder, 'gateway.json');
  writeFileSync(join(folder, 'catalog.json'), JSON.stringify(TEST_CATALOG));
  const configuration = {
    listen: { port: 0 },
    data: join(folder, 'data'),
    catalog: join(folder, 'catalog.json'),
    eventLog: { kind: 'eventstoredb', connectionString: `esdb://127.0.0.1:${path.port}?tls=false` },
    providers: { test: { protocol: 'messages', baseUrl: upstream.url, apiKeyEnv: 'ENDS_KEY', countTokens: false } },
    // Longer than the test waits.
    shutdownDrainMs: 300_000,
  };
  writeFileSync(file, JSON.stringify(configuration));
  await gatewayCommand(file, 'account', 'open', '--email', 'ends@example.com', '--id', 'acct_ends');
  const { key } = JSON.parse(await gatewayCommand(file, 'key', 'issue', 'acct_ends'));
  return { file, store, path, upstream, key: String(key) };
}

it('a gateway that meets an event that it cannot read ends in one line, with streams under way and a log that answers no more', async () => {
  const { file, store, path, upstream, key } = await site();
  const { child, stderr, ended } = startHeld('--config', file, '--json', 'serve');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { url } = JSON.parse(String(line)) as { url: string };
  const body = { model: 'opal-medium', max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'hello' }] };
  const streaming = fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  streaming.catch(() => undefined);
  await expect.poll(() => upstream.requests.length, { timeout: 60_000 }).toBe(1);
  const others = endedLater(await openEventStoreDbEventLog({ connectionString: store.connectionString }));
  const event = { id: '019a5b3c-0000-7000-8000-00000000000b' as never, type: 'Order', data: '{}', metadata: '{}' };
  const published = await others
    .readStream(CATALOG_STREAM, { direction: 'backwards', limit: 1 })
    [Symbol.asyncIterator]()
    .next();
  createInterface({ input: child.stderr }).on('line', (said) => {
    if (said.includes('the views cannot follow the ledger')) path.freeze();
  });
  await others.append(CATALOG_STREAM, published.value?.revision ?? NO_STREAM, [event]);
  expect(await ended).toEqual([EXIT_UNAVAILABLE, null]);
  const said = (await stderr).trimEnd().split('\n');
  expect(said.at(-1)).toMatch(/^gateway: the views cannot follow the ledger: catalog revision 1 \(Order\): /);
  expect(said.join('\n')).not.toMatch(/\bat .*\.ts:\d/);
}, 120_000);

describe('an end is bounded where the log never closes', () => {
  it.each([
    ['of a command', ['account', 'show', 'acct_ada'], EXIT_REFUSED, /^gateway: acct_ada: the account is set aside: /],
    ['of a start of the gateway', ['serve', '--port', '0'], EXIT_UNAVAILABLE, /^gateway: another gateway is using /],
    ['of the relay', ['relay'], EXIT_REFUSED, /^gateway: the ledger is another one\n$/],
  ])('%s', async (_whose, args, exitCode, said) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const program = endedLater(await programInProcess());
    const recorded = { id: '019a5b3c-0000-7000-8000-00000000000b' as never, type: 'Surprise', data: '{}' };
    await program.log.append('account-acct_ada' as StreamName, NO_STREAM, [{ ...recorded, metadata: '{}' }]);
    const { journal } = await openJournal({ directory: journalFolder(dirname(program.file)) });
    onTestFinished(() => journal.close());
    const closing = Promise.withResolvers<void>();
    const left: number[] = [];
    let warned = '';
    const open = program.context.openEventLog;
    const context = {
      ...program.context,
      proveLedger: async () =>
        args[0] === 'relay'
          ? { isWhole: false, error: new LedgerLostError('the ledger is another one') }
          : program.ledger,
      openEventLog: async (...opened: Parameters<typeof open>): Promise<EventLog> => ({
        ...(await open(...opened)),
        close: () => {
          closing.resolve();
          return new Promise(() => undefined);
        },
      }),
      warn: (words: string) => {
        warned += words;
      },
      leave: (code: number) => void left.push(code),
    };
    void runGatewayProgram(context, ['--config', program.file, ...args]);
    await closing.promise;
    expect(left).toEqual([]);
    vi.advanceTimersByTime(LIMITS.fatalEndMs);
    expect(left).toEqual([exitCode]);
    expect(warned).toMatch(said);
  });
});
