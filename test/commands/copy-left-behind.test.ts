import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountId, LEDGER_STREAM, NO_STREAM, proxyId, proxyStream, revision } from '../../contracts/ids.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { writeNote } from '../../ledger/identity/folder-note.ts';
import { readLedgerState } from '../../ledger/identity/ledger-state.ts';
import { asideFolder } from '../../ledger/journal/aside-folder.ts';
import { openJournal } from '../../ledger/journal/open-journal.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { lastEvent } from '../../ledger/last-event.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { writeParked } from '../../projections/parked-accounts.ts';
import { keepClaims } from '../../proxy/claim/claim-file.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { requestOf, usageOf } from '../fixtures/ledger/example-account.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { startText } from '../fixtures/ledger/journal-texts.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { end, head, wait, write } from '../upstream/answer.ts';
import { upstreamWithScript } from '../upstream/fixtures/upstream-with-script.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { type CopySite, copySite, copyTo, open, PREFIX } from './copy-site.ts';

/** A ledger in the event store, and a folder beside its data folder. */
async function inStore() {
  const of = await copySite();
  await open(of.inFile, 'ada');
  await copyTo(of);
  renameSync(join(of.data, 'ledger.db'), join(of.data, 'ledger.db.moved'));
  const other = temporaryFolder();
  const copyBack = (to: string, ...flags: readonly string[]) =>
    runHere('--config', of.inStore, 'ledger', 'copy', '--to', to, ...flags);
  return { of, other, copyBack };
}

const storeOf = ({ store: { connectionString } }: CopySite) =>
  openEventStoreDbEventLog({ connectionString, streamPrefix: PREFIX, waitForServer: true });

/** A proxy as the log has it. */
async function known(of: CopySite, name: string, hasEnded: boolean): Promise<void> {
  const log = await storeOf(of);
  const proxy = proxyId(name);
  const recording = recordingBy(proxy, Date.now());
  const event = {
    type: 'ProxyClaimed',
    data: { proxy, epoch: 1, instance: 'x', claimedAt: recording.recordedAt },
  } as const;
  const claimed = encodeEvents([event], recording);
  await log.append(proxyStream(proxy), NO_STREAM, claimed);
  const ended = encodeEvents([event], { ...recording, ended: true });
  if (hasEnded) await log.append(proxyStream(proxy), revision(0), ended);
  await log.close();
}

const ADA = accountId('acct_ada');
const park = (data: string): void => writeParked(data, ADA, 'looks odd');

async function leaveRequest(directory: string): Promise<void> {
  const { journal } = await openJournal({ directory, reserveBytes: 4_096 });
  journal.begin(requestOf(1), startText(ADA, revision(0), usageOf(1, 3)));
  await journal.close();
}

const BY_OPERATOR = () => recordingBy('operator', Date.now());
const OWN_CLAIM = {
  ...{ proxy: proxyId('prx_own'), epoch: 1, instance: 'x', ownsFrom: 1, folder: 'its own' },
  ...{ takenOverAtMs: null, hasEnded: true },
};

/** A loss was accepted since its gateway ran. */
async function beOfEarlierGeneration(of: CopySite): Promise<void> {
  const log = await storeOf(of);
  const { identity, revision: at } = await readLedgerState(log);
  if (identity === null) throw new Error('the ledger has no identity');
  writeNote(of.data, { ...identity, newest: null, leases: {}, earlier: [] });
  const data = { ...exampleOf('LossAccepted').data, ledgerId: identity.ledgerId, generation: identity.generation + 1 };
  await log.append(LEDGER_STREAM, at, encodeEvents([{ type: 'LossAccepted', data }], BY_OPERATOR()));
  await log.close();
}

/** What a gateway on an event store leaves in its folder: an account that is parked, and what a request of it has used. */
async function parkedWithUsage() {
  const ended = Promise.withResolvers<void>();
  const [first, ...rest] = streamEvents({ tokens: { input: 1_000, output: 200 } });
  const upstream = await upstreamWithScript([head(), write(first ?? ''), wait(ended.promise), ...rest.map(write), end]);
  const { connectionString } = endedLater(await startFakeEventStore());
  const log = endedLater(await openEventStoreDbEventLog({ connectionString, waitForServer: true }));
  const settings = { eventLog: { kind: 'eventstoredb', connectionString } };
  const gateway = await startTestGateway({ log, upstreamUrl: upstream.url, settings });
  const { data } = gateway;
  const command = (...line: readonly string[]) => runHere('--config', join(data, 'gateway.json'), ...line);
  const answer = await postMessage(gateway, { stream: true });
  expect(await answer.next()).not.toBeNull();
  expect((await command('projections', 'park', 'acct_test', '--reason', 'looks odd')).exitCode).toBe(0);
  ended.resolve();
  expect((await answer.rest()).toString()).toContain('message_stop');
  await gateway.stop(1);
  return { data, command, upstreamUrl: upstream.url };
}

/** The account is refused until it is unparked, and then billed. */
async function expectBilledUnparked(data: string, upstreamUrl: string): Promise<void> {
  const gateway = await startTestGateway({ data, upstreamUrl });
  expect(gateway.gateway.process.projections.accounts.setAside.count).toBe(1);
  expect((await runHere('projections', 'unpark', 'acct_test', '--data', data)).exitCode).toBe(0);
  const types = (await gateway.events()).map(({ type }) => type).filter((type) => /Usage|Debited/.test(type));
  expect(types).toEqual(['UsageRecorded', 'CreditsDebited']);
  await gateway.stop();
}

it('a ledger does not go to another data folder while a parked account has usage in this one’s journal', async () => {
  const { data, command, upstreamUrl } = await parkedWithUsage();
  const other = temporaryFolder();
  const says = `${data} it would be without what is there alone: 1 request not settled, in its journal, parked by an operator: acct_test. Copy it to ${join(data, 'ledger.db')},`;
  expect(await command('ledger', 'copy', '--to', other)).toMatchObject({
    ...{ exitCode: 3, stdout: '', stderr: expect.stringContaining(says) },
  });
  expect(readdirSync(other)).toEqual([]);
  // Where the journal is it goes on.
  expect(await command('ledger', 'copy', '--to', data)).toMatchObject({
    ...{ exitCode: 0, stdout: expect.stringContaining(`what is in the journal of ${data} is settled there`) },
  });
  await expectBilledUnparked(data, upstreamUrl);
});

it('what another proxy’s data folder has is not where the ledger is, and a restored backup of that takes it', async () => {
  const { data, command, upstreamUrl } = await parkedWithUsage();
  const [to, backup, restored] = [
    temporaryFolder(),
    join(temporaryFolder(), 'backup'),
    join(temporaryFolder(), 'data'),
  ];
  expect(await command('--data', to, 'ledger', 'copy', '--to', to)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(
      /the log knows of proxy_\w+, too, and not what is left .*\n.*\n.*restore --from-journal/,
    ),
  });
  for (const line of [
    ['backup', backup, '--data', to],
    ['restore', backup, '--data', restored, '--from-journal', data],
  ])
    expect((await runHere('ledger', ...line)).exitCode).toBe(0);
  await expectBilledUnparked(restored, upstreamUrl);
});

describe('gateway ledger copy to another data folder', () => {
  it.each<{ what: string; leave: (of: CopySite) => unknown; says: string }>([
    { what: 'a request', leave: ({ data }) => leaveRequest(journalFolder(data)), says: '1 request not settled' },
    {
      what: 'a request kept aside',
      leave: async ({ data }) => {
        mkdirSync(journalFolder(data));
        await leaveRequest(asideFolder(journalFolder(data)));
      },
      says: '1 request not settled',
    },
    { what: 'a parked account', leave: ({ data }) => park(data), says: 'parked by an operator: acct_ada' },
    { what: 'an earlier generation', leave: beOfEarlierGeneration, says: 'who is refused since generation 1' },
  ])('is refused before anything is written where this one alone has $what', async ({ leave, says }) => {
    const { of, other, copyBack } = await inStore();
    await leave(of);
    expect(await copyBack(other)).toMatchObject({ exitCode: 3, stdout: '', stderr: expect.stringContaining(says) });
    expect(readdirSync(other)).toEqual([]);
    const { stdout } = await copyBack(other, '--copy-only');
    expect(stdout).toContain(`left in ${of.data}: ${says}`);
    expect((await open(of.inStore, 'bob')).exitCode).toBe(0);
    expect(await copyBack(of.data)).toMatchObject({ exitCode: 0, stdout: expect.not.stringContaining('left in') });
  });

  it('is refused at its end where something was left meanwhile', async () => {
    const { of, other, copyBack } = await inStore();
    of.store.faults.onRead = () => {
      if (readdirSync(other).length > 0) park(of.data);
      return 'ok';
    };
    expect(await copyBack(other)).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('parked by an') });
    of.store.faults.onRead = null;
    expect((await open(of.inStore, 'bob')).exitCode).toBe(0);
  });

  it('goes on where a program of before has ended the ledger all the same, and says what is left', async () => {
    const { of, other, copyBack } = await inStore();
    park(of.data);
    const log = await storeOf(of);
    const { identity, revision: at } = await readLedgerState(log);
    const last = await lastEvent(log);
    if (identity === null || last === null) throw new Error('there is no ledger');
    const head = { stream: last.stream, revision: last.revision, id: last.id };
    const [to, movedAt] = [join(other, 'ledger.db'), new Date().toISOString()];
    const data = { ...identity, to, head, movedAt, actor: 'operator' } as const;
    await log.append(LEDGER_STREAM, at, encodeEvents([{ type: 'LedgerMoved', data }], BY_OPERATOR()));
    await log.close();
    const left = `left in ${of.data}: parked by an operator: acct_ada\n`;
    expect(await copyBack(other)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(left) });
  });

  it('names the key of seals of this one, which no other has', async () => {
    const { of, other, copyBack } = await inStore();
    const key = join(of.data, 'seal-key');
    writeFileSync(key, 'a key');
    const named = `to be put back by hand: ${key} (seals)\n`;
    expect((await copyBack(other, '--copy-only')).stdout).toContain(named);
    expect(await copyBack(other)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(named) });
  });

  it('does not name it where it stays', async () => {
    const { of, copyBack } = await inStore();
    writeFileSync(join(of.data, 'seal-key'), 'a key');
    expect(await copyBack(of.data)).toMatchObject({ exitCode: 0, stdout: expect.not.stringContaining('seal-key') });
  });
});

it.each(['this data folder', 'another one'])(
  'gateway ledger copy to a file in %s names whom else the log knows, of whose folders it says nothing',
  async (where) => {
    const { of, other, copyBack } = await inStore();
    for (const name of ['prx_own', 'prx_two', 'prx_gone']) await known(of, name, name !== 'prx_gone');
    keepClaims(of.data, [OWN_CLAIM]);
    const to = where === 'another one' ? other : of.data;
    const says = expect.stringContaining('the log knows of prx_two, too, and not what is left in');
    expect(await copyBack(to, '--gone', 'prx_gone', '--copy-only')).toMatchObject({ exitCode: 0, stdout: says });
    expect(await copyBack(to, '--gone', 'prx_gone')).toMatchObject({ exitCode: 0, stdout: says });
  },
);
