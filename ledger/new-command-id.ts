import { randomBytes } from 'node:crypto';
import { type CommandId, commandId, uuidV7 } from '../contracts/ids.ts';

const RANDOM_BYTES = 10;

/** The id of a command that is given at an instant: no other has it, and ids sort by their time. */
export const newCommandId = (nowMs: number): CommandId => commandId(uuidV7(nowMs, randomBytes(RANDOM_BYTES)));
