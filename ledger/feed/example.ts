import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { decodeEvent } from '../../contracts/event-codec.ts';
import type { FeedEvent } from '../../contracts/feed-message.ts';
import { accountOfStream, type Revision, revision, type StreamName } from '../../contracts/ids.ts';
import { identityOfText, identityText, type LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { type ConsumedBatch, consumeFeed } from './consume-feed.ts';

/**
 * A consumer of the feed: what each account was debited, in a SQLite file, each debit exactly once however often this
 * program is killed.
 *
 *   node ledger/feed/example.ts --brokers localhost:9092 --topic ledger --file debits.db
 *
 * On SIGTERM it prints the totals. The offsets (of each topic by itself: a new one has its own), the revisions and the
 * ledger stand in the same transaction as the totals.
 */
const { values } = parseArgs({
  options: {
    brokers: { type: 'string', default: '127.0.0.1:9092' },
    topic: { type: 'string', default: 'ledger' },
    group: { type: 'string', default: 'debits-example' },
    file: { type: 'string', default: 'debits.db' },
  },
});

const database = new DatabaseSync(values.file);
database.exec(`
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS total (account TEXT PRIMARY KEY, debits INTEGER, micro_usd INTEGER) STRICT;
  CREATE TABLE IF NOT EXISTS offset_of_topic (
    topic TEXT, partition INTEGER, value TEXT, PRIMARY KEY (topic, partition)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS last_revision (stream TEXT PRIMARY KEY, value INTEGER) STRICT;
  CREATE TABLE IF NOT EXISTS left_out (account TEXT PRIMARY KEY, revision INTEGER, why TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS of_ledger (one INTEGER PRIMARY KEY CHECK (one = 1), value TEXT NOT NULL) STRICT;
`);
const addDebit = database.prepare(`
  INSERT INTO total VALUES (?, 1, ?)
  ON CONFLICT DO UPDATE SET debits = debits + 1, micro_usd = micro_usd + excluded.micro_usd`);
const leaveOut = database.prepare('INSERT INTO left_out VALUES (?, ?, ?)');
const isLeftOut = database.prepare('SELECT 1 FROM left_out WHERE account = ?');
const keepOffset = database.prepare('INSERT OR REPLACE INTO offset_of_topic VALUES (?, ?, ?)');
const keepRevision = database.prepare('INSERT OR REPLACE INTO last_revision VALUES (?, ?)');
const keepLedger = database.prepare('INSERT OR REPLACE INTO of_ledger VALUES (1, ?)');
const offsetOf = database.prepare('SELECT value FROM offset_of_topic WHERE topic = ? AND partition = ?');
const ledgerOf = database.prepare('SELECT value FROM of_ledger');
const revisionOf = database.prepare('SELECT value FROM last_revision WHERE stream = ?');

const reading = consumeFeed({
  kafka: { brokers: values.brokers.split(','), topic: values.topic, ssl: false, sasl: null },
  clientId: 'debits-example',
  groupId: values.group,
  positions: {
    nextOffset(partition: number): bigint | null {
      const row = offsetOf.get(values.topic, partition);
      return row === undefined ? null : BigInt(String(row.value));
    },
    lastRevision(stream: StreamName): Revision | null {
      const row = revisionOf.get(stream);
      return row === undefined ? null : revision(Number(row.value));
    },
    ledger(): LedgerIdentity | null {
      const row = ledgerOf.get();
      return row === undefined ? null : identityOfText(String(row.value));
    },
  },
  onEvents: keepBatch,
  onDropped: (error) => process.stderr.write(`Kafka does not answer (${error.message}); trying again\n`),
  onStopped: (error) => {
    process.stderr.write(`stopped: ${error.message}\n`);
    process.exitCode = 1;
    database.close();
  },
});

process.once('SIGTERM', async () => {
  await reading.close();
  const rows = database
    .prepare('SELECT * FROM total WHERE account NOT IN (SELECT account FROM left_out) ORDER BY account')
    .all();
  for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
  database.close();
});

function keepBatch({ partition, events, nextOffset, revisions, ledger }: ConsumedBatch): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    for (const event of events) addDebitOf(event);
    for (const [stream, last] of revisions) keepRevision.run(stream, last);
    keepOffset.run(values.topic, partition, nextOffset.toString());
    if (ledger !== null) keepLedger.run(identityText(ledger));
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function addDebitOf(recorded: FeedEvent): void {
  // Events of other types are nothing to it, whoever has written them.
  if (recorded.type !== 'CreditsDebited') return;
  const account = accountOfStream(recorded.stream);
  // A part of its debits would be taken for all of them.
  if (isLeftOut.get(account) !== undefined) return;
  try {
    const event = decodeEvent(recorded);
    if (event.type === 'CreditsDebited') addDebit.run(account, event.data.amount);
  } catch (error) {
    if (!(error instanceof UnreadableEventError)) throw error;
    leaveOut.run(account, recorded.revision, error.message);
    process.stderr.write(`${account} is left out from here on: ${error.message}\n`);
  }
}
