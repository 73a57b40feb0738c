import type { AccountEvent } from '../contracts/events.ts';
import type { AccountId, Position, Revision } from '../contracts/ids.ts';
import { AccountUnreadableError } from '../ledger/account/account-unreadable-error.ts';
import { orAborted } from '../ledger/or-aborted.ts';
import type { AccountViews } from './account-views.ts';
import type { CatalogView } from './catalog-view.ts';
import { settledFile } from './switched-file.ts';
import type { ViewDisk } from './view-disk.ts';
import { ViewGapError } from './view-gap-error.ts';

export interface SwitchOptions {
  /** Of the views that are gone over to. */
  readonly path: string;
  /** Puts their file in the place of the other. */
  readonly move: () => void;
  readonly signal: AbortSignal;
}

/** Views that follow the log, as far as a switch has to do with them. */
export interface SwitchedSide {
  readonly accounts: AccountViews;
  readonly catalog: CatalogView;
  readonly disk: ViewDisk | null;
  /** The last event that came by the log. */
  readonly at: () => Position | null;
  readonly stopped: () => Error | null;
  readonly stop: (error: Error) => void;
  /** Told of each such event, once it is folded. */
  readonly onEvent: (listener: (() => void) | null) => void;
  /** Resolves when everything that the log has by now is folded. */
  readonly reach: () => Promise<void>;
}

/**
 * Views that serve go over to others that were brought beside them: what those have folded is theirs from one turn of the event
 * loop on, in which both have folded the same. Meanwhile the serving ones are not written. @throws Error where it does not
 * come to that; they are then as they were
 */
export async function goOver(serving: SwitchedSide, beside: SwitchedSide, options: SwitchOptions): Promise<void> {
  const { move, signal } = options;
  const appends = new MirroredAppends(beside.accounts);
  serving.accounts.mirrorTo(appends.take);
  let isSuspended = false;
  try {
    await orAborted(beside.reach(), signal);
    isSuspended = true;
    await bothSuspended(serving.disk, beside.disk);
    if (serving.disk !== null) await settledFile(serving.disk.path, signal);
    await orAborted(
      meeting(
        serving,
        beside,
        () => appends.isWhole && !signal.aborted,
        () => adopt(serving, beside, move),
      ),
      signal,
    );
  } finally {
    serving.accounts.mirrorTo(null);
    serving.onEvent(null);
    beside.onEvent(null);
    beside.stop(new Error('these views have been beside others'));
    if (isSuspended) resume(serving);
  }
}

/** Whichever of them fails, nobody opens either file again before the other one is closed, too. @throws as `suspend` */
async function bothSuspended(...disks: readonly (ViewDisk | null)[]): Promise<void> {
  const suspended = await Promise.allSettled(disks.map((disk) => disk?.suspend()));
  const failed = suspended.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** Resolves with the turn in which both have folded the same, whichever of them comes to it. */
function meeting(serving: SwitchedSide, beside: SwitchedSide, mayMeet: () => boolean, met: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      if (beside.at() !== serving.at() || !mayMeet()) return;
      serving.onEvent(null);
      beside.onEvent(null);
      try {
        met();
        resolve();
      } catch (error) {
        reject(error);
      }
    };
    serving.onEvent(look);
    beside.onEvent(look);
    look();
  });
}

function adopt(serving: SwitchedSide, beside: SwitchedSide, move: () => void): void {
  const stopped = serving.stopped() ?? beside.stopped();
  if (stopped !== null) throw stopped;
  serving.accounts.keepUntold(beside.accounts);
  if (beside.disk !== null) serving.disk?.moveFrom(beside.disk, move);
  serving.accounts.adopt(beside.accounts);
  serving.catalog.adopt(beside.catalog);
  // What they hold is another's from here on.
  beside.stop(new Error('these views are others now'));
}

function resume({ disk, stop }: SwitchedSide): void {
  try {
    disk?.open(true);
  } catch (error) {
    stop(error instanceof Error ? error : new Error(String(error)));
  }
}

/**
 * What the serving views fold of their own appends before it comes by the log is folded by the views beside them, too. What
 * those lack the events before comes to them by the log: until then they are not the same.
 */
class MirroredAppends {
  readonly #beside: AccountViews;
  readonly #missing = new Map<AccountId, Revision>();

  constructor(beside: AccountViews) {
    this.#beside = beside;
  }

  readonly take = (accountId: AccountId, revision: Revision, event: AccountEvent): void => {
    const { setAside } = this.#beside;
    try {
      if (setAside.unreadableFrom(accountId) !== null) setAside.left(accountId, revision);
      else this.#beside.fold(accountId, revision, event);
    } catch (error) {
      if (error instanceof ViewGapError) this.#missing.set(accountId, revision);
      else if (error instanceof AccountUnreadableError) this.#beside.putAside(accountId, error);
      else throw error;
    }
  };

  /** Whether they have folded each of them by now. */
  get isWhole(): boolean {
    for (const [accountId, revision] of this.#missing)
      if (this.#beside.isTaken(accountId, revision)) this.#missing.delete(accountId);
    return this.#missing.size === 0;
  }
}
