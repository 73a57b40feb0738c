import { z } from 'zod';
import { ROLES } from '../../contracts/permissions.ts';

const member = z.strictObject({
  /** As it was written down. */
  email: z.string(),
  role: z.enum(ROLES),
  addedAtMs: z.int(),
});

/** Whose an account is, and of which product. No debit changes it. */
export const organizationSchema = z.strictObject({
  /** Accounts of several products may have the same owner, and have nothing else in common. */
  product: z.string(),
  /** By their e-mails in small letters: the owners, of which there is always one, and whoever they have added. */
  members: z.record(z.string(), member),
});
export type Organization = z.infer<typeof organizationSchema>;
