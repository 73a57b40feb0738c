import { z } from 'zod';
import { ledgerIdField } from '../../contracts/event-fields.ts';
import type { ReadableLog } from '../../contracts/event-log.ts';
import { COPY_STREAM } from '../../contracts/ids.ts';

const markerSchema = z.strictObject({
  ledgerId: ledgerIdField,
  /** How often the ledger has arrived somewhere, once it is whole here. */
  arrivals: z.int().min(1),
});
/** What stands in a log before a ledger is copied to it. */
export type CopyMarker = z.infer<typeof markerSchema>;

/** Null where no ledger is copied to this log. @throws EventLogError; Error where the marker is not of its form */
export async function readCopyMarker(log: ReadableLog): Promise<CopyMarker | null> {
  for await (const { data } of log.readStream(COPY_STREAM, { limit: 1 })) return markerSchema.parse(JSON.parse(data));
  return null;
}
