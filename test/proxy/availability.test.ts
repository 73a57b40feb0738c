import { describe, expect, test } from 'vitest';
import type { JournalShortage } from '../../ledger/journal/journal.ts';
import { openJournal } from '../../ledger/journal/open-journal.ts';
import { LogBreaker } from '../../ledger/log-breaker.ts';
import type { ViewsLost } from '../../projections/sources/view-source.ts';
import type { UnwrittenViews } from '../../projections/view-disk.ts';
import { Availability } from '../../proxy/availability.ts';
import { MachineShortages } from '../../proxy/machine-shortages.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { journalFolder } from '../fixtures/ledger/journal-folder.ts';
import { finishedOf, idOf, startOf } from '../fixtures/ledger/numbered-requests.ts';

const MAX_AGE_MS = 300_000;

/** Views of an age, and a journal with small bounds; both real as far as availability asks them. */
async function scene(bounds: { readonly bytesMax?: number } = {}) {
  const journalBytesMax = bounds.bytesMax ?? 1_000_000;
  const opened = await openJournal({ directory: journalFolder(), segmentBytesMax: 500, bytesMax: journalBytesMax });
  const views = {
    ageMs: (): number | null => state.ageMs,
    get isLive() {
      return state.ageMs === 0;
    },
    get lost() {
      return state.lost;
    },
  };
  const state: {
    ageMs: number | null;
    nowMs: number;
    clockDoubt: string | null;
    claimDoubt: string | null;
    shedding: string | null;
    lost: ViewsLost | null;
  } = {
    lost: null,
    ageMs: 0,
    nowMs: 1_000_000,
    clockDoubt: null,
    claimDoubt: null,
    shedding: null,
  };
  const journal = endedLater(opened.journal);
  const found: { obstacle: 'disk' | null; shortage: JournalShortage | null; unwritten: UnwrittenViews | null } = {
    obstacle: null,
    shortage: null,
    unwritten: null,
  };
  const parts = {
    clock: () => state.nowMs,
    clockDoubt: () => state.clockDoubt,
    ledgerDoubt: () => null,
    claimDoubt: () => state.claimDoubt,
    unserved: () => null,
    unservedProduct: () => null,
    shedding: () => state.shedding,
    projections: views,
    journal,
    shortages: new MachineShortages({ journal: found, projections: found, passedMs: () => state.nowMs }),
    viewsAgeMsMax: MAX_AGE_MS,
    journalBytesMax,
  };
  const breaker = new LogBreaker(parts);
  const availability = new Availability({ ...parts, source: 'log', breaker });
  const ofKafka = new Availability({ ...parts, source: 'kafka', breaker });
  return { availability, breaker, journal, state, found, ofKafka };
}

describe('requests are', () => {
  test('refused until the gateway serves, and when it stops', async () => {
    const { availability } = await scene();
    expect(availability.refuse()).toMatchObject({
      code: 'not_ready',
      message: expect.stringMatching(/catching up/),
      retryAfterS: 1,
    });
    availability.serve();
    expect(availability.refuse()).toBeNull();
    availability.stop();
    availability.serve();
    expect(availability.refuse()).toMatchObject({ code: 'not_ready', message: 'the gateway is stopping' });
  });

  test('admitted up to the age of the views, to the millisecond, and not with views that never were whole', async () => {
    const { availability, state } = await scene();
    availability.serve();
    state.ageMs = MAX_AGE_MS;
    expect([availability.refuse(), availability.degraded()]).toEqual([null, expect.stringContaining('300 s')]);
    state.ageMs = MAX_AGE_MS + 1;
    expect(availability.refuse()).toMatchObject({
      code: 'gateway_overloaded',
      message: expect.stringMatching(/^the event log has been away for 301 s: .* 300 s of projections\.maxAgeMs$/),
    });
    expect(availability.degraded()).toBeNull();
    state.ageMs = null;
    expect(availability.refuse()).toMatchObject({ code: 'not_ready' });
    expect(availability.refuseUnknown()).toMatchObject({ code: 'not_ready' });
  });

  test('not called unauthorised for a key that may be newer than the views', async () => {
    const { availability, state } = await scene();
    expect(availability.refuseUnknown()).toBeNull();
    availability.serve();
    state.ageMs = 2_500;
    expect(availability.refuseUnknown()).toMatchObject({
      code: 'gateway_overloaded',
      message: 'the event log has been away for 3 s: a key that was issued since is not known here yet',
      retryAfterS: 5,
    });
    state.ageMs = 0;
    expect(availability.refuseUnknown()).toBeNull();
  });

  test('refused with the bound and the length of the outage where the journal has no more room', async () => {
    const { availability, breaker, journal, state } = await scene({ bytesMax: 1_000 });
    availability.serve();
    state.ageMs = 61_000;
    breaker.readsLost();
    let begun = 0;
    for (; availability.refuse() === null; begun++) journal.begin(idOf(begun), startOf(begun));
    expect(availability.refuse()).toMatchObject({
      code: 'gateway_overloaded',
      message:
        'the journal of usage has reached the 1000 bytes of journal.maxBytes: the event log has been away for 61 s',
      retryAfterS: 5,
    });
    // With the log in sight it is refused as well, and no outage is told of.
    state.ageMs = 0;
    breaker.readsBack();
    expect(availability.refuse()).toMatchObject({ message: expect.stringMatching(/of journal\.maxBytes$/) });
    for (let index = 0; index < begun; index++) journal.finish(idOf(index), finishedOf(index));
    journal.settle(Array.from({ length: begun }, (_, index) => idOf(index)));
    expect(availability.refuse()).toBeNull();
    await journal.close();
    expect(availability.refuse()).toMatchObject({ message: 'the journal of usage cannot be written' });
  });

  test('refused while the clock is in doubt, with the reason, and then no more', async () => {
    const { availability, state } = await scene();
    availability.serve();
    state.clockDoubt = 'the clock of this machine has jumped by 40 days';
    expect(availability.refuse()).toMatchObject({
      code: 'gateway_overloaded',
      message: 'the clock of this machine has jumped by 40 days',
      retryAfterS: 5,
    });
    expect(availability.degraded()).toBeNull();
    state.clockDoubt = null;
    expect(availability.refuse()).toBeNull();
  });

  test('shed while the event loop is behind: told as degraded, and no reason to take it out of a load balancer', async () => {
    const { availability, state } = await scene();
    expect(availability.isAdmitting).toBe(false);
    availability.serve();
    expect(availability.isAdmitting).toBe(true);
    state.shedding = 'the event loop is 600 ms late';
    expect([availability.isAdmitting, availability.refuse(), availability.degraded()]).toEqual([
      false,
      null,
      'the event loop is 600 ms late',
    ]);
    state.shedding = null;
    expect([availability.isAdmitting, availability.degraded()]).toEqual([true, null]);
  });

  test('refused for ever where something is broken', async () => {
    const { availability } = await scene();
    availability.serve();
    availability.fail('the views have stopped');
    expect(availability.refuse()).toMatchObject({ code: 'not_ready', message: 'the views have stopped' });
    expect(availability.unhealthy()).toBe('the views have stopped');
  });
});

describe('a process whose machine is short of something', () => {
  test('is degraded, and healthy for a minute where no request can begin; then not, until one can', async () => {
    const { availability, state, found } = await scene();
    availability.serve();
    found.obstacle = 'disk';
    found.shortage = { of: 'disk', sinceMs: state.nowMs };
    state.nowMs += 59_999;
    const what = 'the disk has had no room for the journal of usage for 60 s';
    expect([availability.unhealthy(), availability.shortage()]).toEqual([null, what]);
    state.nowMs += 1;
    expect(availability.unhealthy()).toBe(`${what}, and no request can be taken`);
    found.obstacle = null;
    found.shortage = null;
    expect([availability.unhealthy(), availability.shortage(), availability.degraded()]).toEqual([null, null, null]);
  });

  test('is degraded and healthy, however long, where requests begin all the same', async () => {
    const { availability, state, found } = await scene();
    availability.serve();
    found.shortage = { of: 'descriptors', sinceMs: state.nowMs };
    found.unwritten = { sinceMs: state.nowMs, why: 'the views were not written: database or disk is full' };
    state.nowMs += 3_600_000;
    expect([availability.refuse(), availability.unhealthy()]).toEqual([null, null]);
    expect(availability.degraded()).toBe(
      'the process has had no file descriptor for another file of the journal for 3600 s; ' +
        'for 3600 s the views were not written: database or disk is full; their file is behind',
    );
  });
});

describe('the event log is told as away', () => {
  test('also where only the appends fail, from the first word of it', async () => {
    const { availability, breaker, state } = await scene();
    availability.serve();
    expect([breaker.isAway, availability.degraded()]).toEqual([false, null]);
    breaker.failed(new Error('no answer'));
    state.nowMs += 12_000;
    breaker.failed(new Error('no answer'));
    expect([breaker.isAway, availability.degraded()]).toEqual([
      true,
      'the event log has been away for 12 s; usage waits in the journal',
    ]);
    breaker.appended();
    expect([breaker.isAway, availability.degraded()]).toEqual([false, null]);
  });

  test('not where it is only the source of the views, which is called what it is', async () => {
    const { ofKafka, state } = await scene();
    state.lost = 'source';
    state.ageMs = null;
    expect(ofKafka.refuse()?.message).toMatch(/catching up with its ledger: the source of the views is away$/);
    ofKafka.serve();
    state.ageMs = 5_000;
    expect(ofKafka.degraded()).toMatch(/^the source of the views has been away for 5 s;/);
  });

  test('by views from Kafka too, which are compared with it, for as long as it is away, and not as their source', async () => {
    const { ofKafka, breaker, state } = await scene();
    state.lost = 'log';
    state.ageMs = null;
    expect(ofKafka.refuse()?.message).toMatch(/catching up with its ledger: the event log is away$/);
    ofKafka.serve();
    breaker.readsLost();
    state.nowMs += 9_000;
    state.ageMs = 7_000;
    const away = 'the event log has been away for 9 s';
    expect(ofKafka.degraded()).toBe(
      `${away}; requests are admitted by the views of then, and usage waits in the journal`,
    );
    expect(ofKafka.refuseUnknown()?.message).toMatch(`${away}: a key that was issued since`);
    state.ageMs = MAX_AGE_MS + 1;
    expect(ofKafka.refuse()?.message).toMatch(`${away}: the views are older than`);
    state.lost = 'source';
    expect(ofKafka.refuse()?.message).toMatch(`${away}, and the source of the views has been away for 301 s: the`);
    // It is back, and the views have not asked it since.
    state.lost = 'log';
    breaker.readsBack();
    expect(ofKafka.refuse()?.message).toMatch(
      /^the views have not been compared with the event log for 301 s: the views are older/,
    );
    state.ageMs = 0;
    state.lost = null;
    expect(ofKafka.degraded()).toBeNull();
  });

  test('not where the source of the views is there and lacks what the ledger has: that is told instead', async () => {
    const { ofKafka, state } = await scene();
    const behind = 'the source of the views has been behind the ledger for 5 s (its relay is away or behind)';
    state.lost = 'behind';
    state.ageMs = null;
    expect(ofKafka.refuse()).toMatchObject({
      code: 'not_ready',
      message: expect.stringMatching(/catching up .*lacks events of it \(its relay is away or behind\)$/),
    });
    ofKafka.serve();
    state.ageMs = 5_000;
    expect(ofKafka.degraded()).toBe(
      `${behind}; requests are admitted by the views of then, and usage waits in the journal`,
    );
    expect(ofKafka.refuseUnknown()?.message).toMatch(`${behind}: a key that was issued since`);
    state.ageMs = MAX_AGE_MS + 1;
    expect(ofKafka.refuse()?.message).toMatch(/ has been behind the ledger for 301 s .* of projections\.maxAgeMs$/);
  });
});
