import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { feedMessage } from '../../contracts/feed-message.ts';
import { ledgerId } from '../../contracts/ids.ts';
import { backUpFile } from '../../ledger/event-log/sqlite/back-up-file.ts';
import { withLogFile } from '../../ledger/event-log/sqlite/log-file.ts';
import { isPublished } from '../../ledger/relay/published.ts';
import { readFoldedThrough, readLedgerOfViews } from '../../projections/known-views.ts';
import { postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { newTopicName } from '../kafka/new-topic-name.ts';
import { startBroker } from '../kafka/start-broker.ts';
import { TopicWriter } from '../kafka/topic-writer.ts';

/** A gateway's folder as it was at its end, with a backup of some time before, and what each of its requests used. */
const life = { data: '', backup: '', early: '', config: '', requests: [] as string[], events: [] as RecordedEvent[] };

const eventsIn = (file: string): Promise<RecordedEvent[]> => withLogFile(file, (log) => Array.fromAsync(log.readAll()));

const ends: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

let upstreamUrl = '';
beforeAll(async () => {
  const { gateway, upstream } = await startOnUpstream((end) => ends.push(end));
  upstreamUrl = upstream.url;
  life.data = gateway.data;
  life.config = join(gateway.data, 'gateway.json');
  life.backup = join(temporaryFolder(), 'backup');
  life.early = join(temporaryFolder(), 'early.db');
  const post = async (): Promise<void> => {
    const answer = await postMessage(gateway);
    await answer.rest();
    life.requests.push(String(answer.headers['request-id']));
    // The next one knows of it.
    await recorded(gateway);
  };
  for (let count = 0; count < 3; count++) await post();
  await backUpFile(join(gateway.data, 'ledger.db'), life.early);
  for (let count = 0; count < 3; count++) await post();
  await runHereForJson('--config', life.config, 'ledger', 'backup', life.backup);
  for (let count = 0; count < 5; count++) await post();
  await gateway.stop();
  life.events = await eventsIn(join(gateway.data, 'ledger.db'));
});

const restoring = (data: string, ...flags: readonly string[]) =>
  runHere('--config', life.config, '--data', data, 'ledger', 'restore', life.backup, ...flags);
const fresh = (): string => join(temporaryFolder(), 'data');

/** Of a gateway that is started on a restored folder: each request's usage. */
async function servedFrom(data: string): Promise<string[]> {
  const gateway = await startTestGateway({ data, upstreamUrl });
  const { usages, debits } = await recorded(gateway);
  await gateway.stop();
  expect(debits).toHaveLength(usages.length);
  expect(await runHere('--data', data, 'ledger', 'verify', '--all')).toMatchObject({ exitCode: 0 });
  return usages.map(({ requestId }) => requestId);
}

it('without anything that has outlived it a ledger is as of its backup, and that is said', async () => {
  const data = fresh();
  const said = await restoring(data);
  expect(said).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('is known to nobody who was asked') });
  expect(await servedFrom(data)).toEqual(life.requests.slice(0, 6));
});

it('what another copy has more is put back, event by event, and nothing is missing', async () => {
  const data = fresh();
  const said = await restoring(data, '--from-copy', life.early, '--from-copy', join(life.data, 'ledger.db'));
  expect(said).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('events put back from other copies: 10') });
  expect(await eventsIn(join(data, 'ledger.db'))).toEqual(life.events);
  expect(await servedFrom(data)).toEqual(life.requests);
});

it('a file that is no copy of the same ledger is refused, and leaves nothing', async () => {
  const other = await startTestGateway();
  onTestFinished(() => other.stop());
  const data = fresh();
  const said = await restoring(data, '--from-copy', join(other.data, 'ledger.db'));
  expect(said).toMatchObject({ exitCode: 3, stdout: '', stderr: expect.stringContaining('is no copy of the source') });
  expect(said.stderr).toContain(`--from-copy ${join(other.data, 'ledger.db')} is the source, the backup the target: `);
  expect(existsSync(data)).toBe(false);
});

it('what has outlived it, and is not where it is said to be, is no less than what is damaged: nothing is restored', async () => {
  const data = fresh();
  const none = join(temporaryFolder(), 'none');
  const wrong = await restoring(data, '--from-journal', none);
  expect(wrong).toMatchObject({ exitCode: 2, stderr: `gateway: --from-journal ${none}: does not exist\n` });
  expect(await restoring(data, '--from-copy', none)).toMatchObject({
    exitCode: 2,
    stderr: `gateway: --from-copy ${none}: does not exist\n`,
  });
  expect(existsSync(data)).toBe(false);
  expect(await restoring(data, '--from-topic')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('kafka'),
  });
  const away = join(temporaryFolder(), 'gateway.json');
  writeFileSync(away, JSON.stringify({ kafka: { brokers: ['127.0.0.1:1'], topic: 'ledger' } }));
  const from = ['ledger', 'restore', life.backup, '--from-topic'];
  expect(await runHere('--config', away, '--data', data, ...from)).toMatchObject({
    ...{ exitCode: 4, stdout: '', stderr: expect.stringContaining('the topic ledger cannot be read: ') },
  });
  expect(existsSync(data)).toBe(false);
  const nothing = temporaryFolder();
  const said = await restoring(data, '--from-journal', nothing);
  expect(said).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/put back from journals, .*: 0\n/) });
});

it('what a data folder has noted is asked for, and its journal brings back what it has of the requests', async () => {
  const data = fresh();
  const broken = temporaryFolder();
  for (const name of ['journal', 'ledger-id', 'views.db', 'proxy-id'])
    copyOf(join(life.data, name), join(broken, name));
  const said = await restoring(data, '--from-journal', broken);
  expect(said.exitCode).toBe(3);
  expect(said.stdout).toContain('requests put back from journals, to be settled when the gateway starts: 5');
  expect(said.stderr).toMatch(/lacks events that it had.*\n.*account-acct_test: .*views\.db/);
  expect(await commandOn(data)).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('lacks events') });
  const accepted = await runHere('--config', life.config, '--data', data, 'ledger', 'accept-loss', '--reason', 'test');
  expect(accepted).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('generation 2') });
  expect((await servedFrom(data)).sort()).toEqual([...life.requests].sort());
});

describe('of several data folders', () => {
  /** Of a gateway that was restored and has served nothing since, and knows of accounts that the other does not. */
  async function older(): Promise<string> {
    const data = fresh();
    await restoring(data);
    const refused = [{ accountId: 'acct_gone', revokedKeys: ['key_gone'], suspended: null }];
    writeFileSync(join(data, 'refused.json'), JSON.stringify({ refused }));
    writeFileSync(join(data, 'parked.json'), JSON.stringify([{ accountId: 'acct_test', reason: 'fraud look' }]));
    return data;
  }

  it.each([
    ['the older', true],
    ['the newer', false],
  ])('what each knows is asked for, also where %s is named first', async (_which, isOlder) => {
    const [data, old] = [fresh(), await older()];
    const named = isOlder ? [old, life.data] : [life.data, old];
    const said = await restoring(data, ...named.flatMap((folder) => ['--from-journal', folder]));
    expect(said.exitCode).toBe(3);
    expect(said.stderr).toMatch(/lacks events that it had.*\n.*account-acct_test: .*views\.db/);
    expect(await commandOn(data)).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('lacks events') });
    // Noted as the newest has it, with who is refused or parked by any.
    expect(readFileSync(join(data, 'ledger-id'))).toEqual(readFileSync(join(life.data, 'ledger-id')));
    expect(readdirSync(data)).toContain('views.db');
    expect(readFileSync(join(data, 'refused.json'), 'utf8')).toContain('key_gone');
    expect(readFileSync(join(data, 'parked.json'), 'utf8')).toContain('fraud look');
  });

  it('one that is older than the backup takes nothing of what that has noted', async () => {
    const [data, old, again, to] = [fresh(), fresh(), fresh(), join(temporaryFolder(), 'backup')];
    await restoring(data);
    copyOf(data, old);
    writeFileSync(join(old, 'refused.json'), JSON.stringify({ refused: [] }));
    writeFileSync(join(old, 'parked.json'), '[]');
    const [{ stream, revision, id } = expect.fail('no events')] = (await eventsIn(join(data, 'ledger.db'))).slice(-1);
    const note = JSON.parse(readFileSync(join(data, 'ledger-id'), 'utf8'));
    const noted = JSON.stringify({ ...note, newest: { stream, revision, id } });
    writeFileSync(join(data, 'ledger-id'), noted);
    const refused = [{ accountId: 'acct_gone', revokedKeys: ['key_gone'], suspended: null }];
    writeFileSync(join(data, 'refused.json'), JSON.stringify({ refused }));
    const on = (folder: string, ...args: readonly string[]) =>
      runHere('--config', life.config, '--data', folder, ...args);
    expect(await on(data, 'projections', 'park', 'acct_test', '--reason', 'second')).toMatchObject({ exitCode: 0 });
    expect(await on(data, 'ledger', 'backup', to)).toMatchObject({ exitCode: 0 });
    expect(await on(again, 'ledger', 'restore', to, '--from-journal', old)).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(readFileSync(join(again, 'ledger-id'), 'utf8'))).toEqual(JSON.parse(noted));
    expect(readFileSync(join(again, 'refused.json'), 'utf8')).toContain('key_gone');
    expect(readFileSync(join(again, 'parked.json'), 'utf8')).toContain('second');
  });

  /** All that is left of a data folder is its note. */
  function noteOf(folder: string): string {
    const data = temporaryFolder();
    mkdirSync(join(data, 'journal'));
    copyOf(join(folder, 'ledger-id'), join(data, 'ledger-id'));
    return data;
  }

  it('what the second one alone knows is asked for, and noted', async () => {
    const data = fresh();
    const flags = ['--from-journal', await older(), '--from-journal', noteOf(life.data)];
    expect(await restoring(data, ...flags)).toMatchObject({
      ...{ exitCode: 3, stderr: expect.stringContaining('ledger-id knows') },
    });
    expect(await commandOn(data)).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('ledger-id knows') });
  });

  /** A folder whose ledger has given up a loss and goes on, backed up behind that, and another one to put it back into. */
  async function backedUpBehindLoss() {
    const [data, again, to] = [fresh(), fresh(), join(temporaryFolder(), 'backup')];
    await restoring(data, '--from-journal', noteOf(life.data));
    const on = (folder: string, ...args: readonly string[]) =>
      runHere('--config', life.config, '--data', folder, 'ledger', ...args);
    expect(await on(data, 'accept-loss', '--reason', 'test')).toMatchObject({ exitCode: 0 });
    expect(await on(data, 'backup', to)).toMatchObject({ exitCode: 0 });
    return { data, again, to, on };
  }

  it('one of an earlier generation says nothing against what another knows', async () => {
    const { data, again, to, on } = await backedUpBehindLoss();
    expect(await commandOn(data)).toMatchObject({ exitCode: 0 });
    const [{ stream, revision, id } = expect.fail('no events')] = (await eventsIn(join(data, 'ledger.db'))).slice(-1);
    const note = JSON.parse(readFileSync(join(data, 'ledger-id'), 'utf8'));
    writeFileSync(join(data, 'ledger-id'), JSON.stringify({ ...note, newest: { stream, revision, id } }));
    const flags = [noteOf(life.data), noteOf(data)].flatMap((folder) => ['--from-journal', folder]);
    expect(await on(again, 'restore', to, ...flags)).toMatchObject({
      ...{ exitCode: 3, stderr: expect.stringContaining('ledger-id knows') },
    });
  });

  it.each([true, false])(
    'the newest is of the latest generation, however far others go: named first %s',
    async (isFirst) => {
      const { data, again, to, on } = await backedUpBehindLoss();
      const gateway = await startTestGateway({ data, upstreamUrl });
      await gateway.issueKey();
      await gateway.stop();
      const goesTo = (folder: string): number => readFoldedThrough(join(folder, 'views.db'))?.position ?? -1;
      expect(goesTo(life.data)).toBeGreaterThan(goesTo(data));
      const earlier = noteOf(life.data);
      copyOf(join(life.data, 'views.db'), join(earlier, 'views.db'));
      const flags = (isFirst ? [data, earlier] : [earlier, data]).flatMap((folder) => ['--from-journal', folder]);
      const said = await on(again, 'restore', to, ...flags);
      expect(said).toMatchObject({
        exitCode: 3,
        stderr: expect.stringMatching(/lacks events that it had.*\n.*views\.db/),
      });
      expect(readFileSync(join(again, 'ledger-id'), 'utf8')).toBe(readFileSync(join(data, 'ledger-id'), 'utf8'));
      expect(readLedgerOfViews(join(again, 'views.db'))).toMatchObject({ generation: 2 });
      expect(goesTo(again)).toBe(goesTo(data));
    },
  );

  it('none may be of another ledger', async () => {
    const other = await startTestGateway();
    await other.stop();
    const data = fresh();
    const said = await restoring(data, '--from-journal', life.data, '--from-journal', other.data);
    expect(said).toMatchObject({ exitCode: 3, stdout: '', stderr: expect.stringContaining('it is another one') });
    expect(existsSync(data)).toBe(false);
  });
});

it('with a copy beside it, nothing is asked for: what is put back is what was noted', async () => {
  const data = fresh();
  const flags = ['--from-journal', life.data, '--from-copy', join(life.data, 'ledger.db')];
  expect(await restoring(data, ...flags)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(readdirSync(data)).not.toContain('views.db');
  expect(await servedFrom(data)).toEqual(life.requests);
});

it('a journal alone brings back the requests, and asks for what they have known', async () => {
  const data = fresh();
  const journal = join(temporaryFolder(), 'left');
  copyOf(join(life.data, 'journal'), journal);
  const said = await restoring(data, '--from-journal', journal);
  expect(said.stderr).toMatch(/account-acct_test: the journal knows revision/);
  expect(await commandOn(data)).toMatchObject({ exitCode: 3 });
});

it('what was restored in part is finished with the same backup alone', async () => {
  const data = fresh();
  await restoring(data);
  const whole = join(data, 'restore.whole');
  mkdirSync(whole);
  cpSync(join(life.backup, 'manifest.json'), join(whole, 'manifest.json'));
  renameSync(join(data, 'ledger.db'), join(whole, 'ledger.db'));
  expect(await commandOn(data)).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('is being restored') });
  const looked = await runHere('--config', life.config, '--data', data, 'doctor');
  expect(looked).toMatchObject({ exitCode: 5, stdout: expect.stringMatching(/fault +log .*is being restored here/) });
  const other = join(temporaryFolder(), 'other');
  await runHereForJson('--config', life.config, 'ledger', 'backup', other);
  const said = await runHere('--config', life.config, '--data', data, 'ledger', 'restore', other);
  expect(said).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('another backup is being restored') });
  const more = await restoring(data, '--from-copy', join(life.data, 'ledger.db'));
  expect(more).toMatchObject({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringContaining('was made of the backup alone'),
  });
  expect(readdirSync(data)).toContain('restore.whole');
  const finished = await restoring(data);
  expect(finished).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('nothing was read again') });
  expect(readdirSync(data)).not.toContain('restore.whole');
});

function copyOf(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
}

const commandOn = (data: string) =>
  runHere('--config', life.config, '--data', data, 'account', 'suspend', 'acct_test', '--reason', 'test');

const broker = await startBroker();
afterAll(() => broker?.stop());

describe.skipIf(broker === null)('a topic', () => {
  /** The feed as a relay has published it, but for what is left out. */
  async function published(
    without: (event: RecordedEvent) => boolean = () => false,
    of: { readonly ledgerId?: string; readonly generation?: number } = {},
  ): Promise<string> {
    const topic = newTopicName('restore');
    await broker?.createTopic(topic);
    const writer = new TopicWriter(broker?.brokers ?? [], topic);
    const events = life.events.filter((event) => isPublished(event) && !without(event));
    await writer.write(...events.map((event) => messageOf(event, of)));
    await writer.close();
    return topic;
  }

  function messageOf(event: RecordedEvent, of: { readonly ledgerId?: string; readonly generation?: number } = {}) {
    const own = JSON.parse(readFileSync(join(life.backup, 'manifest.json'), 'utf8')).ledger.ledgerId;
    const ledger = { generation: of.generation ?? 1, ledgerId: ledgerId(of.ledgerId ?? own) };
    return feedMessage(event, { source: '/test', relayEpoch: 1, ledger });
  }

  function configured(topic: string): string {
    const file = join(temporaryFolder(), 'gateway.json');
    const kafka = { brokers: broker?.brokers, topic, partitions: 4 };
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(life.config, 'utf8')), kafka }));
    return file;
  }

  const restoreBy = (topic: string, data: string, ...flags: readonly string[]) =>
    runHere('--config', configured(topic), '--data', data, 'ledger', 'restore', life.backup, ...flags);

  it('that has more than the backup is asked without being told to: what is missing is named, and noted', async () => {
    const data = fresh();
    const topic = await published();
    const said = await restoreBy(topic, data);
    expect(said).toMatchObject({ exitCode: 3, stderr: expect.stringContaining(`the topic ${topic} knows revision`) });
    // Also where nobody asks the topic.
    expect(await commandOn(data)).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('ledger-id knows') });
  });

  it('gives back what it has, in the order of the log', async () => {
    const data = fresh();
    const said = await restoreBy(await published(), data, '--from-topic');
    expect(said).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('events put back from the topic: 10') });
    expect(await eventsIn(join(data, 'ledger.db'))).toEqual(life.events);
    expect(await servedFrom(data)).toEqual(life.requests);
  });

  it('that lacks an event gives back what stands before it, and the rest is missing', async () => {
    const data = fresh();
    const missing = life.events.at(-4);
    const said = await restoreBy(await published((event) => event === missing), data, '--from-topic');
    expect(said).toMatchObject({ exitCode: 3, stdout: expect.stringContaining('events put back from the topic: 6') });
    expect(said.stdout).toContain(
      `the topic lacks account-acct_test from revision ${missing?.revision} to ${missing?.revision}`,
    );
    expect(await eventsIn(join(data, 'ledger.db'))).toEqual(life.events.slice(0, -4));
  });

  it('that is not there, or has what is none of the feed’s, is refused', async () => {
    const [data, topic] = [fresh(), await published()];
    const none = await restoreBy(newTopicName('none'), data, '--from-topic');
    expect(none).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('there is no topic') });
    const writer = new TopicWriter(broker?.brokers ?? [], topic);
    const message = messageOf(life.events.filter(isPublished)[0] as RecordedEvent);
    await writer.write({ ...message, headers: { ...message.headers, ce_specversion: '0.3' } });
    await writer.close();
    const other = await restoreBy(topic, data, '--from-topic');
    expect(other).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('ce_specversion') });
    expect(existsSync(data)).toBe(false);
  });

  it('of another ledger is refused', async () => {
    const data = fresh();
    const topic = await published(undefined, { ledgerId: 'ledger_019a5b3c00007000800000000000000a' });
    const said = await restoreBy(topic, data, '--from-topic');
    expect(said).toMatchObject({ exitCode: 3, stdout: '', stderr: expect.stringContaining('and this one is') });
    expect(existsSync(data)).toBe(false);
  });
});
