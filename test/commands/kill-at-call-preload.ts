import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * Loaded before a program (`node --import`): the process is killed (`kill -9`) before or after it gives a file the name in
 * KILL_AT, such as `before rename views.db`, or `*` for a part of it; before it reads all rows of a table as they stand there, such as
 * `before read stored_view`; or before it has a database do what it is told so, such as `before exec COMMIT`.
 */
const [when, call, name = ''] = (process.env.KILL_AT ?? '').split(' ');
const NAMED = new RegExp(`^${name.replaceAll('.', '\\.').replace('*', '.*')}$`);

for (const [known, method] of [
  ['link', 'linkSync'],
  ['rename', 'renameSync'],
] as const) {
  const real = fs[method];
  fs[method] = (from, to) => {
    const isIt = known === call && NAMED.test(basename(String(to)));
    if (isIt && when === 'before') end();
    real(from, to);
    if (isIt) end();
  };
}
syncBuiltinESMExports();

const { iterate } = StatementSync.prototype;
StatementSync.prototype.iterate = function watched(...values: unknown[]) {
  const [, table = ''] = /^SELECT .* FROM (\w+) *$/.exec(this.sourceSQL) ?? [];
  if (call === 'read' && table !== '' && NAMED.test(table)) end();
  return iterate.call(this, ...(values as Parameters<typeof iterate>));
};

const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function watched(sql: string) {
  if (call === 'exec' && NAMED.test(sql)) end();
  exec.call(this, sql);
};

/** The signal is delivered before anything else is done. */
function end(): void {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}
