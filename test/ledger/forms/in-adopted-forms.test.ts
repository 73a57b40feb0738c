import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { BASE_FORMS, OWN_FORMS } from '../../../contracts/event-forms.ts';
import type { ProposedEvent } from '../../../contracts/event-log.ts';
import type { FormSteps } from '../../../contracts/event-upcasters.ts';
import {
  accountId,
  accountStream,
  commandId,
  eventId,
  LEDGER_STREAM,
  NO_STREAM,
  revision,
} from '../../../contracts/ids.ts';
import { adoptForms } from '../../../ledger/forms/adopt-forms.ts';
import { inAdoptedForms } from '../../../ledger/forms/in-adopted-forms.ts';
import { FORMS_LIMITS } from '../../../ledger/forms/limits.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';

const recording = {
  commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
  actor: 'gateway',
  recordedAt: '2026-11-05T10:20:31.001Z',
};
/** A program that has one more field of PlanChanged, and a type more. */
const own = { ...OWN_FORMS, PlanChanged: 2, PlanEnded: 1 };
const steps: FormSteps = {
  PlanChanged: [
    { up: (data) => ({ ...data, note: null }), down: ({ note, ...data }) => (note === null ? data : null) },
  ],
};
const STREAM = accountStream(accountId('acme'));

const stored = (type: string, schemaVersion: number, data: object, at = 1): ProposedEvent => ({
  id: eventId(`019a5b3c-0000-7000-8000-00000000000${at}`),
  type,
  data: JSON.stringify(data),
  metadata: JSON.stringify({ schemaVersion, ...recording }),
});

interface Scene {
  readonly log: MemoryEventLog;
  readonly written: ReturnType<typeof inAdoptedForms>;
  nowMs: number;
}

function scene(log = new MemoryEventLog()): Scene {
  const made: Scene = { log, nowMs: 0, written: inAdoptedForms(log, { own, steps, passedMs: () => made.nowMs }) };
  return made;
}

const adopt = (log: MemoryEventLog, forms: Readonly<Record<string, number>>) =>
  adoptForms(log, { forms, without: [], reason: 'test', recording }, own);

it('is the log itself where this program has no form beyond those that every program reads', () => {
  const log = new MemoryEventLog();
  expect(inAdoptedForms(log, { own: { ...BASE_FORMS, FormsAdopted: 1 }, passedMs: () => 0 })).toBe(log);
});

it('writes what is not adopted in the form that is, and leaves everything else as it comes', async () => {
  const { log, written } = scene();
  const other = stored('AccountSuspended', 1, { reason: 'x' }, 2);
  await written.append(STREAM, NO_STREAM, [stored('PlanChanged', 2, { plan: 'pro', note: null }), other]);
  expect(log.events).toMatchObject([stored('PlanChanged', 1, { plan: 'pro' }), other]);
});

it('writes the new form from the adoption on, of which it learns within a bounded while', async () => {
  const made = scene();
  const { log, written } = made;
  const event = (at: number) => stored('PlanChanged', 2, { plan: 'pro', note: null }, at);
  await written.append(STREAM, NO_STREAM, [event(1)]);
  await adopt(log, { PlanChanged: 2 });
  made.nowMs += FORMS_LIMITS.adoptedLookMs;
  // This one begins the look, and does not wait for it.
  await written.append(STREAM, revision(0), [event(2)]);
  await expect
    .poll(async () => {
      const at = log.events.filter(({ stream }) => stream === STREAM).length;
      await written.append(STREAM, revision(at - 1), [event(at + 1)]);
      return log.events.at(-1);
    })
    .toMatchObject({ data: event(1).data, metadata: event(1).metadata });
  const versions = log.events
    .filter(({ stream }) => stream === STREAM)
    .map(({ metadata }) => JSON.parse(metadata).schemaVersion);
  expect(versions).toEqual(versions.toSorted());
});

it('refuses what the adopted form cannot say, and a type that is not adopted, until just when it is', async () => {
  const { log, written } = scene();
  const noted = written.append(STREAM, NO_STREAM, [stored('PlanChanged', 2, { plan: 'pro', note: 'a' })]);
  await expect(noted).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringMatching(
      /^PlanChanged version 2 cannot be written .* version 1 cannot say it: .*ledger forms/,
    ),
  });
  const ended = written.append(STREAM, NO_STREAM, [stored('PlanEnded', 1, {})]);
  await expect(ended).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringMatching(/^PlanEnded version 1/),
  });
  expect(log.events).toEqual([]);
  await adopt(log, own);
  await written.append(STREAM, NO_STREAM, [stored('PlanChanged', 2, { plan: 'pro', note: 'a' })]);
  await written.append(STREAM, revision(0), [stored('PlanEnded', 1, {}, 2)]);
  expect(log.events.map(({ type }) => type)).toEqual(['FormsAdopted', 'PlanChanged', 'PlanEnded']);
});

it('asks nothing of the log for events of which it has no newer form', async () => {
  const log = new MemoryEventLog();
  let reads = 0;
  const counting = inAdoptedForms(
    Object.assign(Object.create(log), {
      append: log.append.bind(log),
      readStream: (...args: Parameters<MemoryEventLog['readStream']>) => {
        if (args[0] === LEDGER_STREAM) reads++;
        return log.readStream(...args);
      },
    }),
    { own, steps, passedMs: () => 0 },
  );
  await counting.append(
    STREAM,
    NO_STREAM,
    encodeEvents([{ type: 'AccountSuspended', data: { reason: 'x' } }], recording),
  );
  expect(reads).toBe(0);
  for (const at of [1, 2, 3])
    await counting.append(STREAM, revision(at - 1), [stored('PlanChanged', 2, { plan: 'pro', note: null }, at)]);
  expect(reads).toBe(1);
});

it('begins a ledger with its first event: who it is, and what may be written, stand before it', async () => {
  const log = new MemoryEventLog();
  const begun = inAdoptedForms(log, { own, steps, passedMs: () => 0, beginsLedger: true });
  await begun.append(STREAM, NO_STREAM, [stored('PlanChanged', 2, { plan: 'pro', note: 'a' })]);
  await begun.append(STREAM, revision(0), [stored('PlanEnded', 1, {}, 2)]);
  expect(log.events.map(({ type }) => type)).toEqual(['LedgerIdentified', 'FormsAdopted', 'PlanChanged', 'PlanEnded']);
  expect(await readLedgerState(log, own)).toMatchObject({ adopted: own });
});
