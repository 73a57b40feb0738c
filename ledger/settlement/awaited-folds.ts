import type { AccountId, Revision } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import type { AccountRepository } from '../account/account-repository.ts';
import type { Timing } from '../timing.ts';

type Repository = Pick<AccountRepository, 'read' | 'onFolded'>;

interface Awaited {
  readonly revision: Revision;
  readonly folded: AbortController;
}

/**
 * Accounts whose append has met a conflict, each waiting until what was first is folded. Mostly the subscription brings it
 * within milliseconds, and a read of the stream costs several times as much as an append.
 */
export class AwaitedFolds {
  readonly #repository: Repository;
  readonly #pause: Timing['pause'];
  /** An account has one queue, and so one append. */
  readonly #awaited = new Map<AccountId, Awaited>();

  constructor(repository: Repository, { pause }: Timing) {
    this.#repository = repository;
    this.#pause = pause;
    repository.onFolded((accountId) => {
      const awaited = this.#awaited.get(accountId);
      if (awaited !== undefined && this.#has(accountId, awaited.revision)) awaited.folded.abort();
    });
  }

  /** Whether the repository holds the revision, now or within a bounded while. */
  async has(accountId: AccountId, revision: Revision): Promise<boolean> {
    if (this.#has(accountId, revision)) return true;
    const folded = new AbortController();
    this.#awaited.set(accountId, { revision, folded });
    await this.#pause(LIMITS.conflictWaitMs, folded.signal);
    this.#awaited.delete(accountId);
    return this.#has(accountId, revision);
  }

  #has(accountId: AccountId, revision: Revision): boolean {
    return this.#repository.read(accountId).revision >= revision;
  }
}
