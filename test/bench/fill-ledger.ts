import { type CatalogFile, catalogFileSchema } from '../../contracts/catalog.ts';
import { encodeEvents, type Recording } from '../../contracts/event-codec.ts';
import { BASE_FORMS } from '../../contracts/event-forms.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import {
  type AccountId,
  accountId,
  accountStream,
  commandOfRequest,
  grantId,
  type KeyId,
  keyId,
  NO_STREAM,
  type Revision,
  revision,
} from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { type AccountState, INITIAL_ACCOUNT } from '../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { decide } from '../../ledger/account/decide.ts';
import { evolve } from '../../ledger/account/evolve.ts';
import { newKey } from '../../ledger/account/new-key.ts';
import { publishCatalog } from '../../ledger/catalog/publish-catalog.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { CARD, usageNumber } from './settlements/bench-usage.ts';

/** Enough for the log to write in groups as large as it takes. */
const APPENDS_AT_ONCE = 2_000;
/** Its prices are those of `CARD`. */
const CATALOG = catalogFileSchema.parse({ models: [catalogEntry(CARD.id)] });
const TRIAL = microUsd(5_000_000n);
/** More than any account spends. */
const CREDIT = microUsd(1_000_000_000n);

interface Account {
  readonly id: AccountId;
  readonly key: KeyId;
  state: AccountState;
  at: Revision;
}

export interface LedgerSize {
  readonly accounts: number;
  /** At least; the accounts' births are among them. */
  readonly events: number;
}

export const firstAccount = accountId('acct_filled0');

/**
 * A new ledger of accounts with trial, credits and a key, and of billed requests at accounts drawn at random, until there are
 * so many events: what the decider makes of the commands, through the codec, by the log's own appends. Answers how many there are.
 */
export async function fillLedger(path: string, size: LedgerSize, catalog: CatalogFile = CATALOG): Promise<number> {
  const log = await openSqliteEventLog({ path });
  try {
    const nowMs = Date.now();
    // Programs of before, which are measured beside this one, serve from it, too.
    await identifyLedger(log, nowMs, recordingBy('gateway', nowMs), BASE_FORMS);
    await publishCatalog(log, catalog, recordingBy('operator', nowMs));
    const writer = new Writer(log);
    const accounts: Account[] = [];
    for (let index = 0; index < size.accounts; index++) accounts.push(await bear(writer, index));
    for (let sequence = 0; writer.events < size.events; sequence++) {
      const account = accounts[Math.floor(Math.random() * accounts.length)];
      if (account === undefined) throw new Error('a ledger has at least one account');
      const usage = usageNumber(sequence, account.key);
      const command = { type: 'RecordUsage', usage, card: CARD } as const;
      await writer.run(account, [command], {
        commandId: commandOfRequest(usage.requestId),
        actor: account.key,
        recordedAt: usage.finishedAt,
      });
    }
    await writer.drain();
    return writer.events;
  } finally {
    await log.close();
  }
}

async function bear(writer: Writer, index: number): Promise<Account> {
  const { keyId: key, sha256, last4 } = newKey();
  const nowMs = Date.now();
  const account = { id: accountId(`acct_filled${index}`), key: keyId(key), state: INITIAL_ACCOUNT, at: NO_STREAM };
  const birth: AccountCommand[] = [
    {
      ...{
        type: 'OpenAccount',
        accountId: account.id,
        kind: 'organization',
        email: `filled${index}@example.com`,
        nowMs,
      },
      ...{ trial: TRIAL, trialGrantId: grantId(`${account.id}-trial`) },
    },
    {
      ...{ type: 'GrantCredits', grantId: grantId(`${account.id}-credit`), source: 'purchase', amount: CREDIT },
      ...{ costBasis: CREDIT, priority: 100, effectiveAtMs: nowMs, expiresAtMs: null },
    },
    {
      ...{ type: 'IssueKey', keyId: account.key, name: 'filled', sha256, last4, issuer: 'operator', nowMs },
      ...{ expiresAtMs: null, models: null, monthlyLimit: null },
    },
  ];
  await writer.run(account, birth, recordingBy('operator', nowMs));
  return account;
}

/** Appends one behind another without waiting for each: the log writes them in groups, in this order. */
class Writer {
  /** The first two are the ledger's identity and its catalog. */
  events = 2;
  readonly #log: EventLog;
  #waiting: Promise<void>[] = [];

  constructor(log: EventLog) {
    this.#log = log;
  }

  async run(account: Account, commands: readonly AccountCommand[], recording: Recording): Promise<void> {
    const events = commands.flatMap((command) => {
      const decided = decide(command, account.state);
      if ('type' in decided) throw new Error(`${command.type} was refused: ${decided.message}`);
      for (const event of decided) account.state = evolve(account.state, event);
      return decided;
    });
    this.#waiting.push(this.#append(account, encodeEvents(events, recording)));
    account.at = revision(account.at + events.length);
    this.events += events.length;
    if (this.#waiting.length >= APPENDS_AT_ONCE) await this.drain();
  }

  async drain(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    await Promise.all(waiting);
  }

  async #append({ id, at }: Account, events: ReturnType<typeof encodeEvents>): Promise<void> {
    const { type } = await this.#log.append(accountStream(id), at, events);
    if (type !== 'appended') throw new Error(`${id}: ${type} at ${at}`);
  }
}
