import type { AccountId } from '../../contracts/ids.ts';

/** Exit codes: 0 done, 1 an unexpected failure, and these. */
export const EXIT = { usage: 2, refused: 3, unavailable: 4, faults: 5 } as const;

/** A failure that is the caller's to mend: its message is all that is shown. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** As operators are told it. */
export const sayAside = (id: AccountId, why: string): string => `${id}: the account is set aside: ${why}`;
