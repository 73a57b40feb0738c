import { dirname } from 'node:path';
import pino from 'pino';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { openEventStoreDbEventLog } from '../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { keyOfFolder } from '../../../ledger/seals/seal-keys.ts';
import { Sealer } from '../../../ledger/seals/sealer.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { openBenchAccounts } from './bench-accounts.ts';
import { SettlementLoad } from './settlement-load.ts';
import {
  SETTLEMENT_SPREADS,
  type SettlementCommand,
  type SettlementReply,
  type SettlementSpread,
} from './settlement-protocol.ts';

/** A settler, a process of its own: told what to do by its parent, and gone when its parent is. */
interface Settler {
  readonly load: SettlementLoad;
  readonly accounts: ReadonlyMap<string, readonly AccountId[]>;
}

let settler: Settler | null = null;
/** A settlement that fails ends the window: figures with failures in them would mean nothing. */
let failure: string | null = null;

process.on('message', (command: SettlementCommand) => {
  obey(command).then(reply, (error: unknown) => reply({ type: 'failed', reason: String(error) }));
});
process.once('disconnect', () => process.exit(0));
// In order, so that a CPU profile is written.
process.once('SIGTERM', () => process.exit(0));

async function obey(command: SettlementCommand): Promise<SettlementReply> {
  if (command.type === 'open') {
    settler = await open(command);
    return { type: 'done' };
  }
  if (settler === null) throw new Error('nothing is open');
  const { load, accounts } = settler;
  switch (command.type) {
    case 'start':
      failure = null;
      load.start(accounts.get(command.spread) ?? []);
      return { type: 'done' };
    case 'mark':
      load.mark();
      return { type: 'done' };
    case 'read':
      return failure === null ? { type: 'window', window: load.read() } : { type: 'failed', reason: failure };
    case 'stop':
      await load.stop();
      return { type: 'done' };
    default:
      return command satisfies never;
  }
}

type Opening = Extract<SettlementCommand, { type: 'open' }>;

async function open(opening: Opening): Promise<Settler> {
  const log = await openLog(opening);
  if (opening.log === 'sqlite-sealed') await seal(log, dirname(opening.at));
  const repository = new AccountViews();
  const accounts = new Map<SettlementSpread, AccountId[]>();
  for (const [index, [spread, count]] of Object.entries(SETTLEMENT_SPREADS).entries())
    accounts.set(
      spread as SettlementSpread,
      await openBenchAccounts(log, repository, { prefix: `bench-${index}`, count }),
    );
  const load = new SettlementLoad(log, repository, (reason) => {
    failure ??= reason;
  });
  return { load, accounts };
}

/** As a gateway does by default. */
async function seal(log: EventLog, dataFolder: string): Promise<void> {
  await identifyLedger(log, Date.now(), recordingBy('bench', Date.now()));
  const { key } = keyOfFolder(dataFolder);
  const { sealEvents: events, sealAfterMs: afterMs } = LIMITS;
  const logger = pino({ level: 'error' }, pino.destination(2));
  const mayWrite = (): boolean => true;
  const always = { key: () => key, replaceLost: '', copyTo: null, clock: Date.now, mayWrite, logger };
  new Sealer({ log, dataFolder, events, afterMs, ...always }).start();
}

const openLog = ({ log, at, streamPrefix }: Opening): Promise<EventLog> =>
  log.startsWith('sqlite')
    ? openSqliteEventLog({ path: at })
    : openEventStoreDbEventLog({ connectionString: at, streamPrefix, batchAppend: log === 'eventstoredb' });

function reply(message: SettlementReply): void {
  process.send?.(message);
}
