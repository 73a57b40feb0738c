import { within } from '../within.ts';

/** Asks a connection to close and waits, for so long at the most; what it says is of no use to anyone any more. */
export async function closeWithin(ms: number, close: () => Promise<unknown>): Promise<void> {
  await within(
    ms,
    close().catch(() => undefined),
  );
}
