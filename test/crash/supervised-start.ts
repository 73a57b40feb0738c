import { setTimeout as delay } from 'node:timers/promises';
import { killAtOnce, type StartedProcess } from '../fixtures/processes/child-process.ts';

const STARTS_MAX = 8;
const READY_MS_MAX = 60_000;

/** Starts a gateway as a supervisor does: again, where it ends before it is ready or is not ready in time. */
export class SupervisedStart {
  /** How many starts came to nothing. */
  failed = 0;

  /** @throws Error when no start of several comes to anything */
  async untilReady(start: () => StartedProcess): Promise<{ readonly life: StartedProcess; readonly url: string }> {
    for (;;) {
      const life = start();
      const url = await Promise.race([
        life.firstLine.then(
          (line) => line.url,
          () => null,
        ),
        delay(READY_MS_MAX, null, { ref: false }),
      ]);
      if (url !== null) return { life, url };
      this.failed++;
      await killAtOnce(life);
      if (this.failed >= STARTS_MAX) throw new Error(`${this.failed} starts came to nothing: see stderr.log`);
    }
  }
}
