import type { OpenAccount } from './account-state.ts';

/** Whether it has ever paid: also where all of that is used up, has expired or was revoked. A plan may cost nothing. */
export const hasPaid = ({ grants }: Pick<OpenAccount, 'grants'>): boolean =>
  grants.some(({ source, costBasis }) => source === 'purchase' || (source === 'plan' && costBasis > 0n));
