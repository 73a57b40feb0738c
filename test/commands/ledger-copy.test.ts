import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FakeEventStore, startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const PREFIX = 'gateway-';

/** A data folder, and a configuration for each of two places of its ledger. */
interface Site {
  readonly data: string;
  readonly store: FakeEventStore;
  readonly inFile: string;
  readonly inStore: string;
}

async function site(): Promise<Site> {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  const store = endedLater(await startFakeEventStore());
  const configuration = (name: string, eventLog: object): string => {
    const file = join(folder, name);
    writeFileSync(file, JSON.stringify({ data, eventLog, logLevel: 'fatal' }));
    return file;
  };
  const { connectionString } = store;
  return {
    ...{ data, store, inFile: configuration('file.json', { kind: 'sqlite' }) },
    inStore: configuration('store.json', { kind: 'eventstoredb', connectionString, streamPrefix: PREFIX }),
  };
}

const copyTo = ({ inFile, store }: Site, ...flags: readonly string[]) =>
  runHere(
    ...['--config', inFile, 'ledger', 'copy', '--to', store.connectionString, '--stream-prefix', PREFIX, ...flags],
  );
const open = (config: string, name: string) =>
  runHere('--config', config, 'account', 'open', '--email', `${name}@example.com`, '--id', `acct_${name}`);
const accounts = async (config: string): Promise<unknown> => {
  const listed = (await runHereForJson('--config', config, 'account', 'list')) as unknown as { accountId: string }[];
  return listed.map(({ accountId }) => accountId);
};

describe('gateway ledger copy', () => {
  it('copies what is there as often as asked, and nobody serves from the target before all of it is', async () => {
    const of = await site();
    expect(await open(of.inFile, 'ada')).toMatchObject({ exitCode: 0 });
    expect(await copyTo(of, '--copy-only')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^\d+ events are the same in EventStoreDB at 127\.0\.0\.1:\d+.*"gateway-"/),
    });
    // What is there is right, and what is to come is not there yet.
    const refused = await open(of.inStore, 'eve');
    expect(refused).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('is not whole here yet') });
    expect(await open(of.inFile, 'bob')).toMatchObject({ exitCode: 0 });
    expect(await copyTo(of, '--copy-only')).toMatchObject({ exitCode: 0 });
    expect((await open(of.inStore, 'eve')).exitCode).toBe(3);
  });

  it('moves the ledger: where it was nothing is written any more, and where it is everything is there', async () => {
    const of = await site();
    await open(of.inFile, 'ada');
    expect(await copyTo(of, '--copy-only')).toMatchObject({ exitCode: 0 });
    await open(of.inFile, 'bob');
    expect(await copyTo(of)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('is there now') });
    expect(await open(of.inFile, 'eve')).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(/has moved to EventStoreDB at 127\.0\.0\.1:\d+, .*"gateway-".* at 20/),
    });
    // Who only looks is told, and sees.
    expect(await accounts(of.inFile)).toEqual(['acct_ada', 'acct_bob']);
    expect(await open(of.inStore, 'cyd')).toMatchObject({ exitCode: 0 });
    expect(await accounts(of.inStore)).toEqual(['acct_ada', 'acct_bob', 'acct_cyd']);
    expect(await runHere('--config', of.inStore, 'ledger', 'verify', '--all')).toMatchObject({ exitCode: 0 });
    // Once more it finds everything done.
    expect(await copyTo(of)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('is there now') });
    expect(existsSync(join(of.data, 'ledger.db'))).toBe(true);
  });
});
