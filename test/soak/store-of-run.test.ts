import { expect, it } from 'vitest';
import { NO_STREAM } from '../../contracts/ids.ts';
import { givenEventStore } from '../eventstoredb/given-event-store.ts';
import { events, newStream, written } from '../fixtures/ledger/shared-log.ts';
import { open, startWithLog } from '../ledger/event-log/eventstoredb/log-under-test.ts';
import { leadToGiven } from './store-of-run.ts';

it('reads of a server that is given what its own run has written, also after its way there was cut and opened again', async () => {
  const { server, log: others } = await startWithLog();
  const [stream, later] = [newStream(), newStream()];
  await written(others, stream, NO_STREAM, events(3));
  const runs = await Promise.all(
    [1, 2].map(() => {
      const given = givenEventStore({ EVENTSTOREDB_URL: server.connectionString });
      if (given === null) throw new Error('nothing is given');
      return leadToGiven(given);
    }),
  );
  try {
    for (const [index, run] of runs.entries()) {
      expect(run.eventLog.connectionString).not.toBe(server.connectionString);
      const log = await open(run.eventLog);
      await written(log, stream, NO_STREAM, events(index + 1));
      await run.taken?.kill();
      run.taken?.start();
      await run.taken?.whenReady();
      // What was connected learns with a call that its connection is gone; the same append again finds out what came of it.
      const last = events(1);
      const appended = () => log.append(later, NO_STREAM, last).then(({ type }) => type, String);
      await expect.poll(appended).toBe('appended');
    }
    for (const [index, run] of runs.entries()) {
      const found = await run.streams();
      expect(found.map((one) => [one.stream, one.events.length])).toEqual([
        [stream, index + 1],
        [later, 1],
      ]);
      expect(found[0]?.events[0]).toMatchObject({ revision: 0, type: expect.any(String), data: expect.anything() });
    }
  } finally {
    for (const run of runs) await run.stop();
  }
});
