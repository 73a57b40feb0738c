import { onTestFinished } from 'vitest';
import { Projections } from '../../projections/projections.ts';

/** Views until the end of the test, what has stopped them, and what their feed's state was told to be, in order. */
export async function startedViews(
  options: Omit<Parameters<typeof Projections.start>[0], 'persist'>,
  inTime: (closing: Promise<void>) => Promise<void> = (closing) => closing,
) {
  const stopped: Error[] = [];
  const told: string[] = [];
  const projections = await Projections.start({ ...options, persist: true });
  projections.follow({
    onStopped: (error) => stopped.push(error),
    onLive: () => told.push('live'),
    onDropped: (error) => told.push(`dropped: ${error.message}`),
  });
  onTestFinished(() => inTime(projections.close()).catch(() => undefined));
  return { projections, stopped, told };
}
