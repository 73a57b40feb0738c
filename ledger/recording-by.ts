import { randomBytes } from 'node:crypto';
import type { Recording } from '../contracts/event-codec.ts';
import { commandId, uuidV7 } from '../contracts/ids.ts';

const RANDOM_BYTES = 10;

/** A command that is given now, under an id that no other has; ids sort by their time. */
export const recordingBy = (actor: string, nowMs: number): Recording => ({
  commandId: commandId(uuidV7(nowMs, randomBytes(RANDOM_BYTES))),
  actor,
  recordedAt: new Date(nowMs).toISOString(),
});
