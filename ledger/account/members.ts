import type { Role } from '../../contracts/permissions.ts';
import type { OpenAccount } from './account-state.ts';

/** What somebody is in the account; null for who is no member of it. E-mails are the same in capital letters. */
export const roleOf = ({ email }: OpenAccount, whose: string): Role | null =>
  email.toLowerCase() === whose.toLowerCase() ? 'owner' : null;
