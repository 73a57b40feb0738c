import { expect, it } from 'vitest';
import { LEDGER_STREAM, type Position, relayStream } from '../../../contracts/ids.ts';
import { carryRelays } from '../../../ledger/copy/carry-relays.ts';
import { copyLedger } from '../../../ledger/copy/move-ledger.ts';
import { openEventStoreDbEventLog } from '../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { RelayClaim } from '../../../ledger/relay/relay-claim.ts';
import { readRelayState } from '../../../ledger/relay/relay-state.ts';
import { startFakeEventStore } from '../../eventstoredb/fake-event-store.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import type { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { newLog, write } from '../seals/sealer-scene.ts';

const FEED = 'ledger';
const STREAM = relayStream(FEED);
const NOW_MS = Date.parse('2026-11-23T10:00:00.000Z');

async function published(log: MemoryEventLog, upTo: Position): Promise<void> {
  const { signal } = new AbortController();
  const feed = { log, feed: FEED, relay: 'one', claimMs: 30_000, clock: () => NOW_MS, signal };
  const claim = await RelayClaim.take(feed, await readRelayState(log, STREAM));
  await claim?.checkpoint(upTo);
  await claim?.release();
}

it('the next relay goes on behind what was published of the log that the ledger has left', async () => {
  const source = await newLog();
  await write(source, 7);
  const last = source.events[5];
  await published(source, last?.position as Position);
  const { connectionString } = endedLater(await startFakeEventStore());
  const target = endedLater(await openEventStoreDbEventLog({ connectionString, waitForServer: true }));
  let carried = 0;
  const copy = (isKilled: boolean) =>
    copyLedger(
      {
        log: source,
        end: async (expected, of) =>
          (await source.append(LEDGER_STREAM, expected, [of(source.events.at(-1) ?? null)])).type === 'appended',
      },
      { log: target, place: 'elsewhere', isShared: true },
      {
        recording: () => recordingBy('operator', NOW_MS),
        onCopied: () => undefined,
        onCompared: () => undefined,
        move: {
          beforeEnd: async () => undefined,
          beforeArrival: async ({ relays }) => {
            expect([...relays]).toEqual([STREAM]);
            await carryRelays(source, target, { relays, clock: () => NOW_MS, onWait: () => undefined });
            carried = (await Array.fromAsync(target.readAll())).length;
            if (isKilled) throw new Error('killed');
          },
        },
      },
    );
  await expect(copy(true)).rejects.toThrow('killed');
  expect(await copy(false)).toMatchObject({ hasMoved: true });
  const { checkpoint, leader } = await readRelayState(target, STREAM);
  expect(leader).toBeNull();
  expect(checkpoint).not.toBe(last?.position);
  const events = await Array.fromAsync(target.readAll());
  expect(events.find(({ position }) => position === checkpoint)?.id).toBe(last?.id);
  // Behind what was carried the arrival alone.
  expect(events.slice(carried).map(({ type }) => type)).toEqual(['LedgerIdentified']);
});
