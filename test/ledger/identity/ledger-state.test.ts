import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { BASE_FORMS, UnreadFormsError } from '../../../contracts/event-forms.ts';
import { commandId, LEDGER_STREAM, ledgerId, revision } from '../../../contracts/ids.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';

const recording = {
  commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
  actor: 'gateway',
  recordedAt: '2026-11-05T10:20:31.001Z',
};

it('knows which ledger it is, and the forms that were adopted; who does not read them is refused', async () => {
  const log = new MemoryEventLog();
  const identity = await identifyLedger(log, 0, recording);
  expect(identity.ledgerId).toBe(ledgerId(identity.ledgerId));
  expect(await readLedgerState(log)).toMatchObject({ identity, adopted: BASE_FORMS });
  for (const [at, version] of [4, 3].entries()) {
    const data = { forms: { CreditsDebited: version, FormsAdopted: 1 }, without: [], reason: 'x', actor: 'gateway' };
    await log.append(LEDGER_STREAM, revision(at), encodeEvents([{ type: 'FormsAdopted', data }], recording));
  }
  const adopted = { ...BASE_FORMS, FormsAdopted: 1, CreditsDebited: 4 };
  expect(await readLedgerState(log, adopted)).toEqual({
    revision: 2,
    moved: null,
    arrivals: 0,
    isBeingCopied: false,
    identity,
    adopted,
  });
  await expect(readLedgerState(log, { ...adopted, CreditsDebited: 3 })).rejects.toBeInstanceOf(UnreadFormsError);
});
