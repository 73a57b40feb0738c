import type { OpenAccount } from './account-state.ts';

/** Whether it has ever paid: also where all of that is used up, has expired or was revoked. A plan may cost nothing. */
export const hasPaid = ({ grants }: Pick<OpenAccount, 'grants'>): boolean =>
  grants.some(({ source, costBasis }) => source === 'purchase' || (source === 'plan' && costBasis > 0n));

/** Whether a plan was ever in force, also one that costs nothing: each of its periods brings credits. */
export const hasHadPlan = ({ grants }: Pick<OpenAccount, 'grants'>): boolean =>
  grants.some(({ source }) => source === 'plan');
