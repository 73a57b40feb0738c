import { EventLogError } from '../../../contracts/event-log.ts';
import { CATALOG_STREAM, LEDGER_STREAM, type Position, type StreamName } from '../../../contracts/ids.ts';
import { probe, UNREACHED } from '../../append-probe.ts';
import type { Append, AppendAnswer } from './append-answer.ts';
import { type Fault, faultOf } from './fault.ts';
import { whyHidden } from './why-hidden.ts';

/** What the check asks of the log, beyond the port. */
interface CheckedLog {
  /** Null where nothing is to be appended: who only reads needs no right to. */
  readonly append: ((one: Append) => Promise<AppendAnswer>) | null;
  readHead(): Promise<Position | null>;
  onServer(stream: StreamName): string;
  streamMetadata(stream: StreamName): Promise<string | null>;
}

/** How often the append is made, where its answer is lost: it leaves nothing behind, so that asking again costs nothing. */
const PROBES_MAX = 10;
/** Without these nobody can be served; an account whose events are hidden is refused by itself (hidden-streams.ts). */
const OF_ALL: readonly StreamName[] = [CATALOG_STREAM, LEDGER_STREAM];

/** Whether the log may be used: a line for each thing to mend. @throws EventLogError `unavailable` */
export async function checkLog(log: CheckedLog): Promise<readonly string[]> {
  try {
    return await faultsOf(log);
  } catch (error) {
    const fault = faultBehind(error);
    // Everything else that is asked would be refused for the same reason.
    if (fault.isUnknownUser) return [`EventStoreDB: ${fault.reason}`];
    throw error;
  }
}

async function faultsOf(log: CheckedLog): Promise<readonly string[]> {
  const faults: string[] = [];
  if (log.append !== null && !(await mayAppend(log.append)))
    faults.push(`EventStoreDB: the user may not append: give it write access to ${streamsOf(log)} streams`);
  if (!(await isAllowed(log.readHead())))
    faults.push(
      'EventStoreDB: the user may not read $all: give it read access in the ACL of $all (by default only $admins have it)',
    );
  for (const stream of OF_ALL) {
    const fault = await hidingFault(log, stream);
    if (fault !== null) faults.push(fault);
  }
  return faults;
}

/** @throws EventLogError, never `ambiguous`: nothing may have been done by this */
async function mayAppend(append: (one: Append) => Promise<AppendAnswer>): Promise<boolean> {
  let lost: EventLogError | null = null;
  for (let asked = 0; asked < PROBES_MAX; asked++) {
    try {
      return await isAllowed(append({ stream: CATALOG_STREAM, expected: UNREACHED, events: probe('StartCheck') }));
    } catch (error) {
      if (!(error instanceof EventLogError && error.kind === 'ambiguous')) throw error;
      lost = error;
    }
  }
  const why = `whether the user may append was asked ${PROBES_MAX} times, and each answer was lost`;
  throw new EventLogError('unavailable', `EventStoreDB: ${why} (${lost?.message})`, { cause: lost });
}

function streamsOf(log: CheckedLog): string {
  const names = ['account-', 'catalog', 'relay-', 'proxy-', 'clock-', 'reconciliation-', 'seals'];
  const onServer = (name: string): string => log.onServer(name as StreamName);
  return `${names.map(onServer).join(', ')} and ${onServer('ledger')}`;
}

/** Hidden events are destroyed by the next scavenge, and with them what somebody was billed for. */
async function hidingFault(log: CheckedLog, stream: StreamName): Promise<string | null> {
  const reading = log.streamMetadata(stream);
  const name = log.onServer(stream);
  if (!(await isAllowed(reading)))
    return `EventStoreDB: the user may not read the metadata of ${name}: give it read access to $$${name}`;
  const why = whyHidden(name, (await reading) ?? '{}');
  return why === null ? null : `EventStoreDB: ${why}`;
}

async function isAllowed(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    if (faultBehind(error).isAccessDenied) return false;
    throw error;
  }
}

/** What the client said, where it was told as an error of the port. */
function faultBehind(error: unknown): Fault {
  return error instanceof EventLogError && error.cause !== undefined ? faultBehind(error.cause) : faultOf(error);
}
