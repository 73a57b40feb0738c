import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { BASE_FORMS, type Forms, OWN_FORMS } from '../../contracts/event-forms.ts';
import { commandId, NO_STREAM, proxyId, proxyStream, relayStream, revision, uuidV7 } from '../../contracts/ids.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { readLedgerState } from '../../ledger/identity/ledger-state.ts';
import { RelayClaim } from '../../ledger/relay/relay-claim.ts';
import { readRelayState } from '../../ledger/relay/relay-state.ts';
import { FormsAdoption } from '../../proxy/forms-adoption.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';

const DAY_MS = 86_400_000;
/** A program that has one more field of PlanChanged. */
const NEWER = { ...OWN_FORMS, PlanChanged: 2 };

interface Scene {
  readonly log: MemoryEventLog;
  readonly adoption: FormsAdoption;
  nowMs: number;
  mayWrite: boolean;
}

async function scene(own: Forms = NEWER, topic: string | null = null): Promise<Scene> {
  const log = new MemoryEventLog();
  await identifyLedger(log, 0, recordingAt(0), BASE_FORMS);
  const state = { nowMs: 0, mayWrite: true };
  const adoption = new FormsAdoption({
    ...{ log, own, topic, afterMs: DAY_MS, logger: pino({ level: 'silent' }) },
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
  const made = await scene({ ...BASE_FORMS, FormsAdopted: 1 });
  made.nowMs = 10 * DAY_MS;
  expect(await made.adoption.look()).toBe('nothing to adopt');
  expect(made.log.events.map(({ type }) => type)).toEqual(['LedgerIdentified']);
});

const CLAIM_MS = 30_000;

/** The claim of a relay's process, until it is taken over by the next. */
async function relay(made: Scene, name: string, reads: Forms): Promise<RelayClaim> {
  const { log } = made;
  const options = { log, feed: 'ledger', relay: name, claimMs: CLAIM_MS, clock: () => made.nowMs, reads };
  const state = await readRelayState(log, relayStream('ledger'));
  const claim = await RelayClaim.take({ ...options, signal: new AbortController().signal }, state);
  if (claim === null) throw new Error('another was faster');
  return claim;
}

it('asks the relay of its topic, and counts the time from when that reads the form', async () => {
  const made = await scene(NEWER, 'ledger');
  const { adoption } = made;
  await claim(made, 'a', NEWER);
  const older = await relay(made, 'older', BASE_FORMS);
  expect(await adoption.look()).toBe('waits');
  made.nowMs = 10 * DAY_MS;
  await older.checkpoint(null);
  expect(await adoption.look()).toBe('waits');
  const newer = await relay(made, 'newer', NEWER);
  expect(await adoption.look()).toBe('waits');
  made.nowMs += DAY_MS - 1;
  await newer.checkpoint(null);
  expect(await adoption.look()).toBe('waits');
  made.nowMs += 1;
  expect(await adoption.look()).toBe('adopted');
});

it.each([
  ['was released', (claimed: RelayClaim) => claimed.release(), 'ledger'],
  ['has run out', async () => undefined, 'ledger'],
  ['is of another topic', (claimed: RelayClaim) => claimed.checkpoint(null), 'another'],
])('does not wait for a relay whose claim %s', async (_, end, topic) => {
  const made = await scene(NEWER, topic);
  await claim(made, 'a', NEWER);
  const older = await relay(made, 'older', BASE_FORMS);
  made.nowMs = DAY_MS;
  await end(older);
  expect(await made.adoption.look()).toBe('adopted');
});

it('counts the time from the last word of a relay that did not read the form, once its claim has run out', async () => {
  const made = await scene(NEWER, 'ledger');
  await claim(made, 'a', NEWER);
  made.nowMs = 2 * DAY_MS;
  await relay(made, 'older', BASE_FORMS);
  made.nowMs += CLAIM_MS - 1;
  expect(await made.adoption.look()).toBe('waits');
  made.nowMs = 3 * DAY_MS - 1;
  expect(await made.adoption.look()).toBe('waits');
  made.nowMs += 1;
  expect(await made.adoption.look()).toBe('adopted');
});
