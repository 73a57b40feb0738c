import { randomBytes } from 'node:crypto';

/** A name that no topic has, of this run or of another on the same broker. */
export const newTopicName = (prefix: string): string => `${prefix}-${randomBytes(6).toString('hex')}`;
