import { DatabaseSync } from 'node:sqlite';

/** The bare scan of a ledger's file: every row of its events, with data and metadata parsed. Prints how many there are. */
const database = new DatabaseSync(process.argv[2] ?? '', { readOnly: true });
let events = 0;
for (const { data, metadata } of database.prepare('SELECT * FROM event ORDER BY position').iterate()) {
  JSON.parse(String(data));
  JSON.parse(String(metadata));
  events++;
}
database.close();
process.stdout.write(`${JSON.stringify({ events })}\n`);
