import { shortageOf } from '../contracts/shortage.ts';
import { isFull } from '../ledger/event-log/sqlite/database-fault.ts';
import { ViewsNotWrittenError } from './view-store.ts';

/** Whether a disk without room is why something could not be done with views, or beside them. */
export const isWantOfRoom = (error: unknown): boolean =>
  error instanceof ViewsNotWrittenError ? error.isFull : isFull(error) || shortageOf(error) === 'disk';
