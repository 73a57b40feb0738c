import { DatabaseSync, StatementSync } from 'node:sqlite';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { bringUp } from '../../../projections/rebuild/bring-up.ts';

/**
 * Folds a ledger's file in two parts, and writes at each tenth event what they have come to. Behind one of these writes it is killed (`kill -9`): folding on,
 * with some rows of one part handed over, or with all of both.
 */
const [, , file = '', path = '', instant = ''] = process.argv;
/** There are two at least: at the first of these events, and at the last. */
const WRITES = 1;
/** Of the next write: its number, and rows. */
const RUNS = 4;

function end(): void {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}

let [writes, runs] = [0, 0];
const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function counted(sql) {
  const isWrite = sql === 'COMMIT' && this.location() === path;
  if (isWrite && instant === 'writing' && writes === WRITES) end();
  exec.call(this, sql);
  if (isWrite) writes++;
};
const { run } = StatementSync.prototype;
StatementSync.prototype.run = function counted(...values: unknown[]) {
  if (instant === 'handing over' && writes === WRITES && ++runs === RUNS) end();
  return run.call(this, ...(values as Parameters<typeof run>));
};

const log = await openSqliteEventLog({ path: file });
const readAll = log.readAll.bind(log);
let begun = 0;
// It is asked what stands where a write is to begin: no other is under way then.
log.readAll = (options) => {
  if (instant === 'folding' && begun++ === WRITES) end();
  return readAll(options);
};
await bringUp({
  ...{ log, path, identity: null, clock: Date.now, keepFreeBytes: 0, onFolded: () => undefined },
  ledger: { file, parts: 2, from: 0, stretchPositions: 10, pauseMs: () => 0 },
});
throw new Error('it was to be killed');
