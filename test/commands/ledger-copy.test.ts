import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { LEDGER_STREAM, NO_STREAM, proxyId, proxyStream } from '../../contracts/ids.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { writeNote } from '../../ledger/identity/folder-note.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { readLedgerState } from '../../ledger/identity/ledger-state.ts';
import { lastEvent } from '../../ledger/last-event.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere, runHereForJson, runHereWith } from '../fixtures/processes/run-here.ts';
import { runProgram } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { READMES } from '../source-files.ts';
import { type CopySite, copySite, copyTo, open, PREFIX } from './copy-site.ts';

/** What a gateway notes in its folder: which ledger it belongs to. */
async function noteOf({ data }: CopySite): Promise<void> {
  const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
  const { identity } = await readLedgerState(log);
  if (identity === null) throw new Error('the ledger has no identity');
  writeNote(data, { ...identity, newest: null, leases: {}, earlier: [] });
  await log.close();
}
/** The claim of a gateway that has not said that it stopped. */
async function liveProxy({ store }: CopySite): Promise<void> {
  const { connectionString } = store;
  const log = await openEventStoreDbEventLog({ connectionString, streamPrefix: PREFIX, waitForServer: true });
  const [proxy, nowMs] = [proxyId('prx_one'), Date.now()];
  const claimedAt = new Date(nowMs).toISOString();
  const data = { proxy, epoch: 1, instance: 'x', claimedAt };
  const claimed = encodeEvents([{ type: 'ProxyClaimed', data }], recordingBy(proxy, nowMs));
  await log.append(proxyStream(proxy), NO_STREAM, claimed);
  await log.close();
}
const accounts = async (config: string): Promise<unknown> => {
  const listed = (await runHereForJson('--config', config, 'account', 'list')) as unknown as { accountId: string }[];
  return listed.map(({ accountId }) => accountId);
};

describe('gateway ledger copy', () => {
  it('copies what is there as often as asked, and nobody serves from the target before all of it is', async () => {
    const of = await copySite();
    expect(await open(of.inFile, 'ada')).toMatchObject({ exitCode: 0 });
    expect(await copyTo(of, '--copy-only')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^the same in EventStoreDB at 127\.0\.0\.1:\d+.*"gateway-"/),
    });
    // What is there is right, and what is to come is not there yet.
    const refused = await open(of.inStore, 'eve');
    expect(refused).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('is not whole here yet') });
    const there = of.store.events().length;
    const serving = await runProgram('--config', of.inStore, 'serve', '--port', '0');
    expect(serving).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('is not whole here yet') });
    expect(of.store.events()).toHaveLength(there);
    expect(await open(of.inFile, 'bob')).toMatchObject({ exitCode: 0 });
    expect(await copyTo(of, '--copy-only')).toMatchObject({ exitCode: 0 });
    expect((await open(of.inStore, 'eve')).exitCode).toBe(3);
  });

  it('moves the ledger: where it was nothing is written any more, and where it is everything is there', async () => {
    const of = await copySite();
    await open(of.inFile, 'ada');
    expect(await copyTo(of, '--copy-only')).toMatchObject({ exitCode: 0 });
    await noteOf(of);
    await open(of.inFile, 'bob');
    await runHereForJson('--config', of.inFile, 'projections', 'rebuild', '--all');
    expect(await copyTo(of)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('is there now') });
    expect(await open(of.inFile, 'eve')).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(/has moved to EventStoreDB at 127\.0\.0\.1:\d+, .*"gateway-".* at 20/),
    });
    // What its views lack is what has ended it and begun it here, wherever that stands.
    const lag = { events: 2, seconds: expect.any(Number) };
    expect(await runHereForJson('--config', of.inStore, 'projections', 'status')).toMatchObject({ files: [{ lag }] });
    const { stdout } = await runHere('--config', of.inStore, 'doctor');
    expect(stdout).toMatch(/ views .*; 2 events behind/);
    // Who only looks is told, and sees.
    expect(await accounts(of.inFile)).toEqual(['acct_ada', 'acct_bob']);
    expect(await open(of.inStore, 'cyd')).toMatchObject({ exitCode: 0 });
    expect(await accounts(of.inStore)).toEqual(['acct_ada', 'acct_bob', 'acct_cyd']);
    expect(await runHere('--config', of.inStore, 'ledger', 'verify', '--all')).toMatchObject({ exitCode: 0 });
    const left = await runHere('ledger', 'verify', '--offline', join(of.data, 'ledger.db'));
    expect(left).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/: no fault\nThe ledger has moved to EventStoreDB at \S+, .*is there\n$/),
    });
    // Once more it finds everything done.
    expect(await copyTo(of)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('is there now') });
  });

  it('moves it back to a file, which is there when all of it is', async () => {
    const of = await copySite();
    await open(of.inFile, 'ada');
    await copyTo(of);
    await open(of.inStore, 'bob');
    await runHereForJson('--config', of.inStore, 'projections', 'rebuild', '--all');
    const back = join(of.data, 'ledger.db');
    const copyBack = (...flags: readonly string[]) =>
      runHere('--config', of.inStore, 'ledger', 'copy', '--to', back, ...flags);
    // What it has left there is a ledger that has moved away.
    expect(await copyBack()).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('move that file away') });
    renameSync(back, `${back}.moved`);
    const none = join(of.data, 'none', 'ledger.db');
    expect(await runHere('--config', of.inStore, 'ledger', 'copy', '--to', none)).toMatchObject({
      ...{ exitCode: 2, stderr: expect.stringContaining(`there is no folder ${join(of.data, 'none')}`) },
    });
    const pasted = { environment: { PASTED: 'no/such-secret' } };
    expect(await runHereWith(pasted, '--config', of.inStore, 'ledger', 'copy', '--to', 'env:PASTED')).toMatchObject({
      ...{ exitCode: 2, stderr: 'gateway: --to env:PASTED: there is no folder of that name\n' },
    });
    await liveProxy(of);
    expect(await copyBack()).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('prx_one may still serve') });
    expect(existsSync(back)).toBe(false);
    expect(await copyBack('--gone', 'prx_two')).toMatchObject({ exitCode: 3 });
    expect(await copyBack('--gone', 'prx_one')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(back) });
    const { stderr } = await open(of.inStore, 'eve');
    expect(stderr).toContain(`has moved to ${back} at`);
    expect(stderr).toContain(`kind: sqlite } in the configuration, and ${of.data} as the data folder`);
    expect(await open(of.inFile, 'cyd')).toMatchObject({ exitCode: 0 });
    expect(await runHere('--config', of.inFile, 'projections', 'diff', '--all')).toMatchObject({ exitCode: 0 });
    expect(await accounts(of.inFile)).toEqual(['acct_ada', 'acct_bob', 'acct_cyd']);
    expect(await runHere('--config', of.inFile, 'ledger', 'verify', '--all')).toMatchObject({ exitCode: 0 });
    expect(readdirSync(of.data).filter((name) => name.includes('partial'))).toEqual([]);
  });

  it('moves it back to where a gateway finds it alone: to ledger.db in a data folder, this one or another', async () => {
    const of = await copySite();
    await open(of.inFile, 'ada');
    await copyTo(of);
    const other = temporaryFolder();
    const copyBack = (to: string) => runHere('--config', of.inStore, 'ledger', 'copy', '--to', to);
    for (const server of [' esdb://a:secret@b?tlsCAFile=/c/d', 'kurrentdb://a:secret@b?tlsCAFile=/c/d'])
      expect(await copyBack(server)).toMatchObject({
        ...{ exitCode: 2, stderr: expect.not.stringContaining('secret') },
      });
    for (const none of [join(of.data, 'back.db'), join(other, 'data')])
      expect(await copyBack(none)).toMatchObject({
        ...{ exitCode: 2, stdout: '' },
        stderr: expect.stringMatching(
          /^gateway: --to \S+: a gateway finds its ledger as ledger\.db in its data folder/,
        ),
      });
    expect([(await open(of.inStore, 'bob')).exitCode, readdirSync(other)]).toEqual([0, []]);
    const advice = `next: name eventLog: { kind: sqlite } in the configuration, and ${other} as the data folder (data, or --data),`;
    expect(await copyBack(other)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(advice) });
    const { exitCode } = await runHere(
      '--config',
      of.inFile,
      '--data',
      other,
      'account',
      'open',
      '--email',
      'cyd@example.com',
    );
    expect([exitCode, (await open(of.inStore, 'eve')).exitCode]).toEqual([0, 3]);
  });

  it('refuses a prefix where it goes to a file, whose streams have none', async () => {
    const of = await copySite();
    await open(of.inFile, 'ada');
    await copyTo(of);
    const other = temporaryFolder();
    const to = ['--config', of.inStore, 'ledger', 'copy', '--to', other, '--stream-prefix'];
    expect(await runHere(...to, 'k-')).toMatchObject({
      ...{ exitCode: 2, stdout: '', stderr: expect.stringMatching(/^gateway: --stream-prefix is for an event store/) },
    });
    expect([(await open(of.inStore, 'bob')).exitCode, readdirSync(other)]).toEqual([0, []]);
    expect(await runHere(...to, '')).toMatchObject({ exitCode: 0 });
  });

  it('goes on with one to a file of another name that a program of before has ended the ledger for, and says its name', async () => {
    const of = await copySite();
    await open(of.inFile, 'ada');
    await copyTo(of);
    const file = join(of.data, 'back.db');
    const { connectionString } = of.store;
    const log = endedLater(await openEventStoreDbEventLog({ connectionString, streamPrefix: PREFIX }));
    const { identity, revision } = await readLedgerState(log);
    if (identity === null) throw new Error('the ledger has no identity');
    const last = await lastEvent(log);
    if (last === null) throw new Error('the ledger is empty');
    const [movedAt, head] = [new Date().toISOString(), { stream: last.stream, revision: last.revision, id: last.id }];
    const data = { ...identity, to: file, head, movedAt, actor: 'operator' } as const;
    await log.append(
      LEDGER_STREAM,
      revision,
      encodeEvents([{ type: 'LedgerMoved', data }], recordingBy('operator', Date.now())),
    );
    expect(await runHere('--config', of.inStore, 'ledger', 'copy', '--to', file)).toMatchObject({
      ...{ exitCode: 0, stdout: expect.stringContaining('with that file called ledger.db') },
    });
    expect(existsSync(file)).toBe(true);
  });

  it.each([
    { who: 'an operator', as: [], says: /has moved to .*look before you repeat it/s },
    {
      who: 'a member, but not where it is',
      as: ['--as', 'ada@example.com'],
      says: /^the ledger cannot be relied on now: an operator has to look\nThat was .* look before you repeat it\.$/,
    },
  ])('is told to a command that it has overtaken, whose event may be nowhere, of $who', async ({ as, says }) => {
    const log = new MemoryEventLog();
    const program = endedLater(await programInProcess(log));
    const append = log.append.bind(log);
    await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
    await identifyLedger(log, Date.now(), recordingBy('test', Date.now()));
    log.append = async (...args) => {
      log.append = append;
      const { identity, revision } = await readLedgerState(log);
      if (identity === null) throw new Error('the ledger has no identity');
      const event = { type: 'LedgerMoved', data: { ...exampleOf('LedgerMoved').data, ...identity } } as const;
      await append(LEDGER_STREAM, revision, encodeEvents([event], recordingBy('test', Date.now())));
      return await append(...args);
    };
    await expect(program.run('key', 'issue', 'acct_ada', ...as)).rejects.toMatchObject({
      ...{ exitCode: 3, message: expect.stringMatching(says) },
    });
  });

  it('is told by the doctor, where it was and while it is made', async () => {
    const of = await copySite();
    await open(of.inFile, 'ada');
    const ofLedger = async (config: string): Promise<unknown> => {
      const { stdout } = await runHere('--json', '--config', config, 'doctor');
      const findings = JSON.parse(stdout) as readonly { readonly check: string }[];
      return findings.find(({ check }) => check === 'ledger');
    };
    await copyTo(of, '--copy-only');
    const copied = expect.stringContaining('is not whole here yet');
    expect(await ofLedger(of.inStore)).toMatchObject({ state: 'fault', says: copied, advice: null });
    await copyTo(of);
    const gone = expect.stringContaining('has moved to EventStoreDB');
    expect(await ofLedger(of.inFile)).toMatchObject({ state: 'fault', says: gone, advice: null });
    expect(await ofLedger(of.inStore)).toMatchObject({ state: 'ok' });
  });

  it('is what the README says, line by line', async () => {
    const of = await copySite();
    await open(of.inFile, 'ada');
    const [, block = ''] = /^```sh copying\n([\s\S]*?)^```$/m.exec(READMES.get('README.md') ?? '') ?? [];
    const lines = block
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +#.*/, '').split(' ').slice(1));
    const said: string[] = [];
    for (const words of lines) {
      const given = words.map((word) => (word === 'env:EVENTSTOREDB_URL' ? of.store.connectionString : word));
      const { exitCode, stdout } = await runHere('--config', of.inFile, ...given);
      expect(exitCode).toBe(0);
      said.push(stdout);
    }
    expect(said).toEqual([expect.stringContaining('without --copy-only'), expect.stringContaining('is there now')]);
  });

  it.each([
    [['--to', 'env:NO_SUCH_PLACE'], 2, /^gateway: --to: the environment variable NO_SUCH_PLACE is not set\n$/],
    [
      ['--to', 'env:pasted_secret'],
      2,
      /^gateway: --to: no environment variable has the name that stands there; [\w ]+\n$/,
    ],
    [['--to', ''], 2, /^gateway: --to: names no place\n$/],
    [['--to', '/tmp/other.db'], 2, /in a file already/],
    [['--to', 'esdb://127.0.0.1:1?tls=false'], 4, /EventStoreDB/],
  ])('refuses %j', async (flags, exitCode, says) => {
    const of = await copySite();
    await open(of.inFile, 'ada');
    const run = await runHere('--config', of.inFile, 'ledger', 'copy', ...flags);
    expect(run).toMatchObject({ exitCode, stderr: expect.stringMatching(says) });
  });

  // The last one begins as what a ledger under gateway- would take for its own does.
  it.each(['p2', 'a b-', '$x-', 'a/b', '-', 'account-', 'clock-', 'gateway-account-'])(
    'refuses the prefix %s, which no configuration may name, before anything is asked of the server',
    async (prefix) => {
      const of = await copySite();
      await open(of.inFile, 'ada');
      const to = ['ledger', 'copy', '--to', of.store.connectionString, '--stream-prefix', prefix];
      const says = /^error: option '--stream-prefix <prefix>' argument '.+' is invalid\. expected .*"gateway-"/;
      for (const flags of [['--copy-only'], []])
        expect(await runHere('--config', of.inFile, ...to, ...flags)).toMatchObject({
          ...{ exitCode: 2, stdout: '', stderr: expect.stringMatching(says) },
        });
      expect(of.store.calls.count).toBe(0);
      expect(await open(of.inFile, 'bob')).toMatchObject({ exitCode: 0 });
    },
  );
});
