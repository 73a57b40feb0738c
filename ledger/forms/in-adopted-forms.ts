import { BASE_FORMS, type Forms, OWN_FORMS, versionIn } from '../../contracts/event-forms.ts';
import { type AppendResult, type EventLog, type ProposedEvent, UnadoptedFormError } from '../../contracts/event-log.ts';
import { downcast, FORM_STEPS, type FormSteps } from '../../contracts/event-upcasters.ts';
import type { EventType } from '../../contracts/events.ts';
import type { Revision, StreamName } from '../../contracts/ids.ts';
import { identifyLedger } from '../identity/identify-ledger.ts';
import { readLedgerState } from '../identity/ledger-state.ts';
import { recordingBy } from '../recording-by.ts';
import { typesBeyondBase } from './adopt-forms.ts';
import { FORMS_LIMITS } from './limits.ts';

interface AdoptedFormsOptions {
  /** Milliseconds by a clock that nobody sets. */
  readonly passedMs: () => number;
  /** What this program reads, and by which steps it became so. */
  readonly own?: Forms;
  readonly steps?: FormSteps;
  /** An empty log is made a ledger before its first append: with an identity, and the forms of this program. */
  readonly beginsLedger?: boolean;
}

/**
 * The log, written in the forms that it may be written in: what this program has in a newer one than the ledger has adopted
 * is put into the adopted one, as everybody reads it. Where this program has no form beyond those that every program reads
 * it is the log itself.
 *
 * Its appends are as the log's; `invalid` also for what the adopted form cannot say. For what is made here: what is stored
 * already, and is copied, goes to the log itself, or it would be another event, and of appends that are sent at once one that
 * has to ask what is adopted would stand behind the next.
 */
export function inAdoptedForms(log: EventLog, options: AdoptedFormsOptions): EventLog {
  const { own = OWN_FORMS, steps = FORM_STEPS, beginsLedger = false, passedMs } = options;
  const beyond = typesBeyondBase(own);
  if (beyond.size === 0) return log;
  const writer = new FormWriter(log, beyond, { own, steps, beginsLedger, passedMs });
  const { followHidden, hiddenStreams, software } = log;
  return {
    append: (stream, expected, events) => writer.append(stream, expected, events),
    readStream: (stream, read) => log.readStream(stream, read),
    readAll: (read) => log.readAll(read),
    subscribeAll: (subscription) => log.subscribeAll(subscription),
    headPosition: () => log.headPosition(),
    ...(followHidden === undefined ? {} : { followHidden: followHidden.bind(log) }),
    ...(hiddenStreams === undefined ? {} : { hiddenStreams: hiddenStreams.bind(log) }),
    ...(software === undefined ? {} : { software: software.bind(log) }),
    close: () => log.close(),
  };
}

/** Before what is done elsewhere, and then written down by an event in this program's own form. @throws UnadoptedFormError where that cannot be written yet */
export async function assertAdopted(log: EventLog, type: EventType): Promise<void> {
  const { adopted } = await readLedgerState(log);
  const [own, version] = [versionIn(OWN_FORMS, type), versionIn(adopted, type)];
  if (version < own) throw unsayable(type, own, version);
}

class FormWriter {
  readonly #log: EventLog;
  readonly #options: Required<AdoptedFormsOptions>;
  /** Types of which this program has a form that is not adopted, as far as is known. Only ever fewer. */
  readonly #pending: Set<string>;
  #adopted: Forms | null = null;
  #lookedMs = 0;
  #looking: Promise<void> | null = null;

  constructor(log: EventLog, pending: Set<string>, options: Required<AdoptedFormsOptions>) {
    this.#log = log;
    this.#pending = pending;
    this.#options = options;
  }

  append(stream: StreamName, expected: Revision, events: readonly ProposedEvent[]): Promise<AppendResult> {
    return events.some(({ type }) => this.#pending.has(type))
      ? this.#appendAdopted(stream, expected, events)
      : this.#log.append(stream, expected, events);
  }

  async #appendAdopted(
    stream: StreamName,
    expected: Revision,
    events: readonly ProposedEvent[],
  ): Promise<AppendResult> {
    const known = await this.#whatIsAdopted(events);
    if (!events.every((event) => this.#isSayable(event, known))) await this.#lookNow(events);
    const adopted = this.#adopted ?? known;
    const written = events.map((event) => (this.#pending.has(event.type) ? this.#inForm(event, adopted) : event));
    return await this.#log.append(stream, expected, written);
  }

  /** What is known of it, looked up now and then without waiting: adopted is for good, and the older form readable. */
  async #whatIsAdopted(events: readonly ProposedEvent[]): Promise<Forms> {
    const nowMs = this.#options.passedMs();
    // A later look that fails leaves what is known.
    if (this.#adopted === null || nowMs - this.#lookedMs >= FORMS_LIMITS.adoptedLookMs)
      this.#lookNow(events).catch(() => undefined);
    if (this.#adopted === null) await this.#looking;
    return this.#adopted ?? BASE_FORMS;
  }

  #lookNow(events: readonly ProposedEvent[]): Promise<void> {
    this.#lookedMs = this.#options.passedMs();
    this.#looking ??= this.#look(events).finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** What is not may have been adopted since: then it is the consequence of another's event in its new form. */
  #isSayable(event: ProposedEvent, adopted: Forms): boolean {
    const version = versionIn(adopted, event.type);
    const { schemaVersion } = JSON.parse(event.metadata);
    if (!this.#pending.has(event.type) || schemaVersion <= version) return true;
    return downcast(event.type as EventType, version, JSON.parse(event.data), this.#options.steps) !== null;
  }

  async #look(events: readonly ProposedEvent[]): Promise<void> {
    const { own, beginsLedger } = this.#options;
    const [first] = events;
    if (beginsLedger && first !== undefined && (await this.#log.headPosition()) === null) {
      const { actor, recordedAt } = JSON.parse(first.metadata);
      const nowMs = Date.parse(recordedAt);
      await identifyLedger(this.#log, nowMs, recordingBy(actor, nowMs), own);
    }
    const { adopted } = await readLedgerState(this.#log, own);
    this.#adopted = adopted;
    for (const type of this.#pending) if (versionIn(adopted, type) >= versionIn(own, type)) this.#pending.delete(type);
  }

  #inForm(event: ProposedEvent, adopted: Forms): ProposedEvent {
    const metadata = JSON.parse(event.metadata);
    const version = versionIn(adopted, event.type);
    if (metadata.schemaVersion <= version) return event;
    const data = downcast(event.type as EventType, version, JSON.parse(event.data), this.#options.steps);
    if (data === null) throw unsayable(event.type, metadata.schemaVersion, version);
    const older = { ...metadata, schemaVersion: version };
    return { ...event, data: JSON.stringify(data), metadata: JSON.stringify(older) };
  }
}

function unsayable(type: string, own: number, version: number): UnadoptedFormError {
  const older = version === 0 ? 'no older program reads the type' : `version ${version} cannot say it`;
  return new UnadoptedFormError(
    type,
    `${type} version ${own} cannot be written before every proxy reads it, and ${older}: ` +
      '`gateway ledger forms` shows who does not, and what is adopted',
  );
}
