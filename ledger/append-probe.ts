import { randomUUID } from 'node:crypto';
import type { ProposedEvent } from '../contracts/event-log.ts';
import { eventId, revision } from '../contracts/ids.ts';

/**
 * No stream ever has so many events: an append that expects it meets a conflict, and leaves nothing behind. It goes the way
 * of every append up to there (the node that leads, its writer, the right to append), and so tells of all but the writing.
 */
export const UNREACHED = revision(2 ** 50);

export const probe = (type: 'StartCheck' | 'LogProbe'): ProposedEvent[] => [
  { id: eventId(randomUUID()), type, data: '{}', metadata: '{}' },
];
