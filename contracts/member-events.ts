import { z } from 'zod';
import { text } from './bounded-length.ts';
import { instantField } from './event-fields.ts';
import { ROLES } from './permissions.ts';

/** Of a member's e-mail, which is the same in capital letters. The account's opener is its first owner without an event. */
const memberField = z.email();
const roleField = z.enum(ROLES);

/** Who belongs to an organization. Each says by whom it was done. */
export const memberEvents = {
  MemberAdded: z.strictObject({ email: memberField, role: roleField, addedAt: instantField, by: text }),
  MemberRoleChanged: z.strictObject({ email: memberField, role: roleField, by: text }),
  /** From here on the member's keys are refused, for good: who is added again needs new ones. */
  MemberRemoved: z.strictObject({ email: memberField, by: text, removedAt: instantField }),
} as const;
