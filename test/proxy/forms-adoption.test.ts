import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { type Forms, OWN_FORMS } from '../../contracts/event-forms.ts';
import { commandId, NO_STREAM, proxyId, proxyStream, revision, uuidV7 } from '../../contracts/ids.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { readLedgerState } from '../../ledger/identity/ledger-state.ts';
import { FormsAdoption } from '../../proxy/forms-adoption.ts';
import { MemoryEventLog } from '../ledger/settlement/memory-event-log.ts';

const DAY_MS = 86_400_000;
/** A program that has one more field of PlanChanged. */
const NEWER = { ...OWN_FORMS, PlanChanged: 2 };

interface Scene {
  readonly log: MemoryEventLog;
  readonly adoption: FormsAdoption;
  nowMs: number;
  mayWrite: boolean;
}

async function scene(own: Forms = NEWER): Promise<Scene> {
  const log = new MemoryEventLog();
  await identifyLedger(log, 0, recordingAt(0));
  const state = { nowMs: 0, mayWrite: true };
  const adoption = new FormsAdoption({
    ...{ log, own, afterMs: DAY_MS, logger: pino({ level: 'silent' }) },
    ...{ clock: () => state.nowMs, mayWrite: () => state.mayWrite },
  });
  const made: Scene = Object.assign(state, { log, adoption });
  onTestFinished(() => made.adoption.close());
  return made;
}

const recordingAt = (ms: number) => ({
  commandId: commandId(uuidV7(ms, crypto.getRandomValues(new Uint8Array(10)))),
  actor: 'gateway',
  recordedAt: new Date(ms).toISOString(),
});

/** A program of before says nothing of what it reads. */
async function claim({ log, nowMs }: Scene, name: string, reads?: Forms): Promise<void> {
  const proxy = proxyId(name);
  const stream = proxyStream(proxy);
  const at = log.events.filter((event) => event.stream === stream).length;
  const claimedAt = new Date(nowMs).toISOString();
  const data = { proxy, epoch: at + 1, instance: String(log.events.length), claimedAt };
  const recording = { ...recordingAt(nowMs), ...(reads === undefined ? {} : { reads }) };
  await log.append(
    stream,
    at === 0 ? NO_STREAM : revision(at - 1),
    encodeEvents([{ type: 'ProxyClaimed', data }], recording),
  );
}

it('adopts once every live claim has read the form for the time in which it can be rolled back', async () => {
  const made = await scene();
  const { adoption, log } = made;
  await claim(made, 'a');
  await claim(made, 'b', NEWER);
  made.nowMs = 10 * DAY_MS;
  expect(await adoption.look()).toBe('waits');
  await claim(made, 'a', NEWER);
  made.nowMs += DAY_MS - 1;
  expect(await adoption.look()).toBe('waits');
  made.nowMs += 1;
  made.mayWrite = false;
  expect(await adoption.look()).toBe('waits');
  made.mayWrite = true;
  expect(await adoption.look()).toBe('adopted');
  expect((await readLedgerState(log, NEWER)).adopted).toEqual(NEWER);
  const [event] = log.events.filter(({ type }) => type === 'FormsAdopted');
  expect(JSON.parse(event?.data ?? '')).toMatchObject({
    forms: { PlanChanged: 2, FormsAdopted: 1 },
    without: [],
    actor: 'gateway',
  });
  expect(await adoption.look()).toBe('nothing to adopt');
});

it('counts from its start where nobody claims a name', async () => {
  const made = await scene();
  made.nowMs = DAY_MS - 1;
  expect(await made.adoption.look()).toBe('waits');
  made.nowMs = DAY_MS;
  expect(await made.adoption.look()).toBe('adopted');
});

it('has nothing to adopt where the program has no form but that which adopts forms', async () => {
  const made = await scene({ ...OWN_FORMS, FormsAdopted: 1 });
  made.nowMs = 10 * DAY_MS;
  expect(await made.adoption.look()).toBe('nothing to adopt');
  expect(made.log.events.map(({ type }) => type)).toEqual(['LedgerIdentified']);
});
