import { expect, test } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { accountStream, revision } from '../../contracts/ids.ts';
import { AccountUnreadableError } from '../../ledger/account/account-unreadable-error.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { TakeBack } from '../../projections/take-back.ts';
import { ACCOUNT } from '../fixtures/ledger/example-account.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { exampleLives, writeTo } from './example-ledger.ts';

test('a log that is away keeps nobody from closing: what waits for it ends, with the account left aside', async () => {
  const log = new LogWithOutages();
  await log.goAway();
  const accounts = new AccountViews();
  accounts.putAside(ACCOUNT, new AccountUnreadableError(ACCOUNT, revision(0), 'of an unknown type'));
  const takeBack = new TakeBack(log, accounts);
  let hasEnded = false;
  const read = takeBack.all().then(() => {
    hasEnded = true;
  });
  await expect.poll(() => log.streamReads).toBeGreaterThan(0);
  await takeBack.close();
  expect(hasEnded).toBe(true);
  await read;
  const reads = log.streamReads;
  await takeBack.all();
  expect(log.streamReads).toBe(reads);
  expect(accounts.setAside.unreadableFrom(ACCOUNT)).toBe(0);
});

test.each([
  ['that is folded on the way', false],
  ['that cannot be read', true],
])(
  'an account that an operator parks while it is read again stays parked, and nothing more of it is folded: an event %s',
  async (_what, isPoisoned) => {
    const [events = []] = exampleLives(1).values();
    const log = new MemoryEventLog();
    const accounts = new AccountViews();
    accounts.putAside(ACCOUNT, new AccountUnreadableError(ACCOUNT, revision(0), 'of an unknown type'));
    writeTo(log, ACCOUNT, events.slice(0, 3));
    if (isPoisoned) log.write(accountStream(ACCOUNT), [{ ...(log.events[0] ?? expect.fail()), type: 'Unknown' }]);
    const { setAside } = accounts;
    const slow: Pick<EventLog, 'readStream'> = {
      // An operator comes between the second event and the third; or where there is a fourth, behind all that can be read.
      async *readStream(...args) {
        for await (const event of log.readStream(...args)) {
          if (event.revision === (isPoisoned ? 3 : 2)) setAside.park(ACCOUNT, revision(event.revision), 'a look');
          yield event;
        }
      },
    };
    const takeBack = new TakeBack(slow as EventLog, accounts);
    await takeBack.some([ACCOUNT]);
    const at = isPoisoned ? 3 : 2;
    expect([setAside.whyOf(ACCOUNT), setAside.unreadableFrom(ACCOUNT)]).toEqual(['parked by an operator: a look', at]);
    expect(accounts.foldedUpTo(ACCOUNT)).toBe(at - 1);
    setAside.unpark(ACCOUNT);
    await new TakeBack(log, accounts).some([ACCOUNT]);
    expect(setAside.whyOf(ACCOUNT)).toEqual(isPoisoned ? expect.stringContaining('Unknown') : null);
    expect(accounts.foldedUpTo(ACCOUNT)).toBe(2);
  },
);

test('an account that is parked behind the last event that is read stays parked', async () => {
  const log = new MemoryEventLog();
  const accounts = new AccountViews();
  accounts.putAside(ACCOUNT, new AccountUnreadableError(ACCOUNT, revision(0), 'of an unknown type'));
  const { setAside } = accounts;
  const slow: Pick<EventLog, 'readStream'> = {
    async *readStream(...args) {
      yield* log.readStream(...args);
      setAside.park(ACCOUNT, revision(0), 'a look');
    },
  };
  await new TakeBack(slow as EventLog, accounts).some([ACCOUNT]);
  expect(setAside.whyOf(ACCOUNT)).toBe('parked by an operator: a look');
});
