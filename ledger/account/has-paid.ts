import type { OpenAccount } from './account-state.ts';

/** Whether it has ever paid: also where all of that is used up, has expired or was revoked. */
export const hasPaid = ({ grants }: Pick<OpenAccount, 'grants'>): boolean =>
  grants.some(({ source }) => source === 'purchase' || source === 'plan');
