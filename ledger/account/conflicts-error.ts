import type { AccountId } from '../../contracts/ids.ts';

/** Other writers came between every time: nothing of the command was written, and it can be tried again. */
export class ConflictsError extends Error {
  constructor(accountId: AccountId, attempts: number) {
    super(`account ${accountId}: ${attempts} attempts conflicted with other writers; try again`);
    this.name = 'ConflictsError';
  }
}
