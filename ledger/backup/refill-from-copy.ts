import type { EventLog, ReadableLog } from '../../contracts/event-log.ts';
import { ComparedTarget } from '../copy/compare-logs.ts';
import { copyEvents } from '../copy/copy-events.ts';

/** Told of how many events more are in the ledger. */
type OnRefilled = (events: number) => void;

/**
 * What another copy of a ledger has and this one lacks behind its end: all that this one has is compared with it first.
 * @returns how many events were there @throws CopyError where it is no copy of the same; EventLogError
 */
export async function refillFromCopy(
  copy: ReadableLog,
  log: EventLog,
  { atOnce, onRefilled }: { readonly atOnce: number; readonly onRefilled: OnRefilled },
): Promise<number> {
  const compared = new ComparedTarget(copy, log, { after: null, onCompared: () => undefined });
  for await (const _event of compared.readAll());
  let count = 0;
  const onCopied = (events: number): void => {
    count += events;
    onRefilled(events);
  };
  await copyEvents(copy, log, { after: compared.place?.source ?? null, atOnce, onCopied });
  return count;
}
