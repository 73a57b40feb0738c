import { setImmediate as nextTurn } from 'node:timers/promises';

/** All steps of some work, so many in a turn of the event loop. @throws what a step throws */
export async function inTurns(steps: Iterable<void>, stepsPerTurn: number): Promise<void> {
  let done = 0;
  for (const _ of steps) if (++done % stepsPerTurn === 0) await nextTurn();
}
