import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { type EventLog, EventLogError } from '../../contracts/event-log.ts';
import { CATALOG_STREAM, type EventId, revision } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { openJournal } from '../../ledger/journal/open-journal.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { Gateway } from '../../proxy/program/serve/gateway.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { get } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { requestOf, usageOf } from '../fixtures/ledger/example-account.ts';
import { startText } from '../fixtures/ledger/journal-texts.ts';

/** However slow the machine is. */
const WAIT = { timeout: 60_000 };

/** A folder that a gateway has served from, among several on one log. */
async function servedFrom(): Promise<TestGateway> {
  const gateway = await startTestGateway({ settings: { proxies: 'many' } });
  await gateway.stop();
  return gateway;
}

/** Another life of it, and what becomes of that. */
async function liveAgain({ data }: TestGateway, change: (log: EventLog) => Partial<EventLog> = () => ({})) {
  const logLines: string[] = [];
  const unusable: Error[] = [];
  const log = endedLater(await openSqliteEventLog({ path: join(data, 'ledger.db') }));
  const gateway = endedLater(
    await Gateway.start({
      configuration: readConfiguration({ file: join(data, 'gateway.json'), environment: {}, callsProviders: true }),
      log: { ...bound(log), ...change(log) },
      logger: pino({ level: 'fatal' }, { write: (line: string) => logLines.push(line) }),
      clock: Date.now,
      monotonic: Date.now,
      onUnusable: (error) => unusable.push(error),
    }),
  );
  const readyz = () => get({ url: gateway.url, key: '' }, '/readyz');
  return { gateway, log, unusable, logLines, readyz };
}

/** As far as it comes: what its start is told as, to whoever waits, asks, has started it or reads the log. */
async function startAgain(served: TestGateway, change?: (log: EventLog) => Partial<EventLog>) {
  const { gateway, unusable, logLines, readyz } = await liveAgain(served, change);
  const error = await gateway.whenReady().then(
    () => null,
    (failure: Error) => failure.message,
  );
  const { status, body } = await readyz();
  return { error, status, body, unusable: unusable.map(({ message }) => message), logged: logLines.join('') };
}

const bound = (log: EventLog): EventLog => ({
  append: (...args) => log.append(...args),
  readStream: (...args) => log.readStream(...args),
  readAll: (...args) => log.readAll(...args),
  headPosition: () => log.headPosition(),
  subscribeAll: (options) => log.subscribeAll(options),
  close: () => log.close(),
});

/** Anybody may ask /readyz: it has the step alone. */
const told = (step: string, why: RegExp) => ({
  error: expect.stringMatching(new RegExp(`^${step}: .*${why.source}`)),
  status: 503,
  body: { ok: false, reason: `${step}; the log of this gateway says why` },
  unusable: [expect.stringMatching(why)],
  logged: expect.stringMatching(why),
});

describe('a start that fails says which of its steps it was, and why', () => {
  it('the views', async () => {
    const served = await servedFrom();
    const log = await openSqliteEventLog({ path: join(served.data, 'ledger.db') });
    const event = { id: randomUUID() as string as EventId, type: 'NeverHeardOf', data: '{}', metadata: '{}' };
    await log.append(CATALOG_STREAM, revision(0), [event]);
    await log.close();
    expect(await startAgain(served)).toEqual(told('the views cannot follow the ledger', /NeverHeardOf/));
  });

  it('the clock', async () => {
    const readAll = (): never => {
      throw new Error('not a page of events');
    };
    const started = await startAgain(await servedFrom(), () => ({ readAll }));
    expect(started).toEqual(told('the clock cannot be compared with the ledger', /not a page of events/));
  });

  it("the proxy's name", async () => {
    const served = await servedFrom();
    writeFileSync(join(served.data, 'proxy-claims.json'), 'no claims');
    expect(await startAgain(served)).toEqual(told('the name of this proxy cannot be claimed', /holds no claims/));
  });

  it('what the journal holds', async () => {
    const served = await servedFrom();
    const { journal } = await openJournal({ directory: journalFolder(served.data) });
    journal.begin(requestOf(1), startText(served.accountId, revision(1), usageOf(1, 3)));
    await journal.close();
    const started = await startAgain(served);
    expect(started).toEqual(told('the requests of the last run cannot be settled', /which the catalog never had/));
  });
});

describe('a gateway that serves ends as it would at its start', () => {
  it('where the views can follow the ledger no more', async () => {
    const { gateway, log, unusable, readyz } = await liveAgain(await servedFrom());
    await gateway.whenReady();
    const event = { id: randomUUID() as string as EventId, type: 'NeverHeardOf', data: '{}', metadata: '{}' };
    await log.append(CATALOG_STREAM, revision(0), [event]);
    await expect.poll(() => unusable.length, WAIT).toBe(1);
    expect(unusable).toMatchObject([
      { name: 'UnusableError', message: expect.stringMatching(/^the views cannot follow the ledger: .*NeverHeardOf/) },
    ]);
    expect((await readyz()).status).toBe(503);
  });

  it('where the log is back after the start, and what is known of the ledger cannot be noted: no word of a loss', async () => {
    const served = await servedFrom();
    let isAway = true;
    const { unusable, logLines, readyz } = await liveAgain(served, (log) => ({
      readStream: async function* (...call) {
        if (isAway) throw new EventLogError('unavailable', 'the log is away');
        yield* log.readStream(...call);
      },
    }));
    const note = join(served.data, 'ledger-id');
    rmSync(note);
    mkdirSync(note);
    isAway = false;
    await expect.poll(() => unusable.length, WAIT).toBe(1);
    const what = 'the ledger cannot be compared with what this data folder knows of it';
    expect(unusable).toMatchObject([
      { name: 'UnusableError', message: expect.stringMatching(new RegExp(`^${what}: E`)) },
    ]);
    const reason = `${what}; the log of this gateway says why`;
    expect(await readyz()).toMatchObject({ status: 503, body: { ok: false, reason } });
    expect(logLines.join('')).not.toMatch(/lacks events|accept-loss/);
    // The views, which wait for the same answer, and the start have found it, too.
    expect(logLines).toHaveLength(1);
  });
});
