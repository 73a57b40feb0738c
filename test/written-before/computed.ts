import { killAtOnce, stopInOrder } from '../fixtures/processes/child-process.ts';
import type { OpenedKey, OpenedKeys } from './lives.ts';
import type { OldProgram } from './old-program.ts';

export interface RecordedEvent {
  readonly revision: number;
  readonly type: string;
  readonly data: unknown;
}

/** What the old program said of a folder after it had started on a copy of it. */
export interface Computed {
  /** The clock's reading then. */
  readonly atMs: number;
  readonly keys: readonly (OpenedKey & { readonly status: number; readonly me: unknown })[];
  /** `gateway account show --json` of each account. */
  readonly accounts: Readonly<Record<string, unknown>>;
  /** What it added to each account's events, for what the journal had held. */
  readonly added: Readonly<Record<string, readonly RecordedEvent[]>>;
}

const ACCOUNTS = ['acct_ada', 'acct_team', 'acct_debt'];

/** Starts the old program, and asks it once it is ready: the journal's requests are settled then. */
export async function computedBy(program: OldProgram, opened: OpenedKeys): Promise<Computed> {
  const before = await eventsOf(program);
  const gateway = program.serve();
  try {
    const { url } = await gateway.firstLine;
    const atMs = Date.now() + program.clockOffsetMs;
    const keys = [];
    for (const key of Object.values(opened)) {
      const answer = await fetch(`${url}/me`, { headers: { 'x-api-key': key.key } });
      keys.push({ ...key, status: answer.status, me: await answer.json() });
    }
    const accounts: Record<string, unknown> = {};
    const added: Record<string, RecordedEvent[]> = {};
    for (const [accountId, events] of Object.entries(await eventsOf(program))) {
      accounts[accountId] = await program.command('account', 'show', accountId);
      added[accountId] = events.slice(before[accountId]?.length);
    }
    await stopInOrder(gateway);
    return { atMs, keys, accounts, added };
  } finally {
    await killAtOnce(gateway);
  }
}

async function eventsOf(program: OldProgram): Promise<Record<string, RecordedEvent[]>> {
  const events: Record<string, RecordedEvent[]> = {};
  for (const accountId of ACCOUNTS) {
    const lines = await program.lines('ledger', 'events', accountId);
    events[accountId] = lines.map(({ revision, type, data }) => ({ revision, type, data }));
  }
  return events;
}
