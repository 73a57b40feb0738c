import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { NO_STREAM, relayStream, revision } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { chainOf } from '../fixtures/ledger/seal-chain.ts';
import { killAtOnce, killStarted, startProcess } from '../fixtures/processes/child-process.ts';
import { GATEWAY_PROGRAM } from '../fixtures/processes/gateway-command.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

afterEach(killStarted);

const KILLS = 2;
const EVENTS_A_KILL = 40;
/** Each is of two events, or more where the gateway was slower than they came. */
const SEALS_BEFORE_A_KILL = 2;

it('a gateway that is killed while it seals leaves a chain that the next one goes on with: no gap, no fork', async () => {
  const data = temporaryFolder();
  const file = join(data, 'gateway.json');
  writeFileSync(file, JSON.stringify({ data, listen: { port: 0 }, seals: { events: 2, afterMs: 1 } }));
  const stderrFd = openSync(join(data, 'stderr'), 'a');
  for (let kill = 1; kill <= KILLS; kill++) {
    const gateway = startProcess([GATEWAY_PROGRAM, '--config', file, '--json', 'serve'], { stderrFd });
    await gateway.firstLine;
    const log = endedLater(await openSqliteEventLog({ path: join(data, 'ledger.db') }));
    const sealed = (await chainOf(log)).seals.length;
    const enough = Promise.withResolvers<void>();
    let seen = 0;
    const subscription = log.subscribeAll({
      after: null,
      onEvents: (events) => {
        seen += events.filter(({ type }) => type === 'LedgerSealed').length;
        if (seen >= sealed + SEALS_BEFORE_A_KILL) enough.resolve();
      },
      onStopped: enough.reject,
    });
    const stream = relayStream(`nobody-${kill}`);
    // More than it takes: the gateway is killed in the middle of one seal or the next.
    for (let at = 0; at < EVENTS_A_KILL; at++) {
      const { commandId } = recordingBy('test', Date.now());
      const event = { id: commandId as never, type: 'RelayReleased', data: '{}', metadata: '{}' };
      await log.append(stream, revision(NO_STREAM + at), [event]);
    }
    await enough.promise;
    await killAtOnce(gateway);
    await subscription.close();
    expect((await chainOf(log)).seals.length).toBeGreaterThanOrEqual(sealed + SEALS_BEFORE_A_KILL);
    await log.close();
  }
  closeSync(stderrFd);
});
