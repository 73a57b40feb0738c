import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { BASE_FORMS, OWN_FORMS } from '../../../contracts/event-forms.ts';
import {
  accountId,
  accountStream,
  commandId,
  LEDGER_STREAM,
  ledgerId,
  NO_STREAM,
  revision,
} from '../../../contracts/ids.ts';
import { UnreadFormsError } from '../../../contracts/unread-forms-error.ts';
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
  const identity = await identifyLedger(log, 0, recording, BASE_FORMS);
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

it('is born with the forms of the program that begins it, in one append; one that was there before is not', async () => {
  const born = new MemoryEventLog();
  const identity = await identifyLedger(born, 0, recording);
  expect(born.events.map(({ type }) => type)).toEqual(['LedgerIdentified', 'FormsAdopted']);
  expect(await readLedgerState(born)).toMatchObject({ identity, adopted: OWN_FORMS });
  expect(await identifyLedger(born, 0, recording)).toEqual(identity);
  expect(born.events).toHaveLength(2);

  const before = new MemoryEventLog();
  const suspended = encodeEvents([{ type: 'AccountSuspended', data: { reason: 'x' } }], recording);
  await before.append(accountStream(accountId('acme')), NO_STREAM, suspended);
  await identifyLedger(before, 0, { ...recording, commandId: commandId('019a5b3c-0000-7000-8000-00000000000b') });
  expect(await readLedgerState(before)).toMatchObject({ adopted: BASE_FORMS });
});
