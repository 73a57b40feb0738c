import { type EventLog, HiddenStreamError } from '../contracts/event-log.ts';
import { type AccountId, accountStream, revision } from '../contracts/ids.ts';
import { accountEventOf } from '../ledger/account/account-event.ts';
import { AccountUnreadableError } from '../ledger/account/account-unreadable-error.ts';
import { untilLogAnswers } from '../ledger/until-log-answers.ts';
import type { AccountViews } from './account-views.ts';
import { VIEW_LIMITS } from './limits.ts';
import { ViewGapError } from './view-gap-error.ts';

/** Reads accounts that were set aside again, each however long the log is away. */
export class TakeBack {
  readonly #log: EventLog;
  readonly #accounts: AccountViews;
  readonly #closing = new AbortController();
  #reading: Promise<void> = Promise.resolve();
  /** Of each that is read, or waits to be, who is told that the log is away. */
  readonly #waiting = new Set<() => void>();

  constructor(log: EventLog, accounts: AccountViews) {
    this.#log = log;
    this.#accounts = accounts;
  }

  /** Resolves when each of them has been read, or `close` was called. @throws EventLogError where the log cannot be read at all */
  all(): Promise<void> {
    return this.some(this.#accounts.setAside.accountsOf('unreadable'));
  }

  /**
   * One after the other: there may be many, and requests come first.
   *
   * @param onAway told of each look in vain, also for others that are read before
   */
  some(accountIds: readonly AccountId[], onAway: () => void = () => undefined): Promise<void> {
    const { signal } = this.#closing;
    const onEach = (): void => {
      for (const tell of this.#waiting) tell();
    };
    this.#waiting.add(onAway);
    this.#reading = this.#reading.then(async () => {
      for (const accountId of accountIds)
        if (!signal.aborted && this.#isToRead(accountId))
          await untilLogAnswers(() => takeBack(this.#log, this.#accounts, accountId), { signal, onEach });
    });
    const done = this.#reading
      .catch((error: unknown) => {
        if (!signal.aborted) throw error;
      })
      .finally(() => this.#waiting.delete(onAway));
    this.#reading = done.catch(() => undefined);
    return done;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reading;
  }

  #isToRead(accountId: AccountId): boolean {
    const { setAside } = this.#accounts;
    return setAside.unreadableFrom(accountId) !== null && !setAside.isParked(accountId);
  }
}

/**
 * Reads an account that was set aside from the ledger again, from the first event that could not be read or applied, and
 * takes it back where all can be by now: by a newer program, or because its events are there again. What came meanwhile
 * was left in the ledger, so that it is read until nothing is left. @throws EventLogError
 */
async function takeBack(log: EventLog, accounts: AccountViews, accountId: AccountId): Promise<void> {
  const { setAside } = accounts;
  try {
    for (let reading = 1; reading <= VIEW_LIMITS.takeBackReadings; reading++) {
      await foldToHead(log, accounts, accountId);
      // By an operator, while it was read.
      if (setAside.isParked(accountId)) return;
      // From here on in one turn of the event loop: what comes next is folded as it comes.
      if (accounts.foldedUpTo(accountId) < setAside.leftUpTo(accountId)) continue;
      setAside.takeBack(accountId, 'unreadable');
      return;
    }
  } catch (error) {
    // Of a stream that is hidden somebody else tells when it is there again.
    if (error instanceof HiddenStreamError) return;
    if (!(error instanceof AccountUnreadableError)) throw error;
    accounts.putAside(accountId, error);
  }
}

async function foldToHead(log: EventLog, accounts: AccountViews, accountId: AccountId): Promise<void> {
  const from = revision(accounts.toldUpTo(accountId) + 1);
  try {
    for await (const recorded of log.readStream(accountStream(accountId), { from })) {
      if (accounts.setAside.isParked(accountId)) return;
      accounts.fold(accountId, recorded.revision, accountEventOf(accountId, recorded));
    }
  } catch (error) {
    throw error instanceof ViewGapError ? lacking(accountId, error) : error;
  }
}

/** What the ledger itself lacks: the account's events are not all there. */
export const lacking = (accountId: AccountId, { message, found }: ViewGapError): AccountUnreadableError =>
  new AccountUnreadableError(accountId, found, message);
