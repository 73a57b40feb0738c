import { expect, it } from 'vitest';
import { commandId, ledgerId } from '../../../contracts/ids.ts';
import type { LedgerIdentity } from '../../../contracts/ledger-identity.ts';
import { acceptLoss } from '../../../ledger/identity/accept-loss.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';

const LEDGER = ledgerId('ledger_019a5b3c00007000800000000000000a');
const recording = {
  commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
  actor: 'operator',
  recordedAt: '2026-11-05T10:20:31.001Z',
};

async function acceptOn(log: MemoryEventLog, known: LedgerIdentity | null): Promise<LedgerIdentity | null> {
  const state = await readLedgerState(log);
  return acceptLoss(log, { state, known, lost: [], untold: 1, requests: [], reason: 'x', nowMs: 0, recording });
}

it('begins the generation after the newest that anybody knows, also where the ledger has lost it', async () => {
  const log = new MemoryEventLog();
  const folder = { ledgerId: LEDGER, generation: 2 };
  expect(await acceptOn(log, folder)).toEqual({ ledgerId: LEDGER, generation: 3 });
  expect((await readLedgerState(log)).identity).toEqual({ ledgerId: LEDGER, generation: 3 });
  // A folder that knows less is no reason to give a generation out a second time.
  expect(await acceptOn(log, folder)).toEqual({ ledgerId: LEDGER, generation: 4 });
  expect(await acceptOn(log, null)).toEqual({ ledgerId: LEDGER, generation: 5 });
});
