import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';

/**
 * Loaded before a program (`node --import`): it is killed (`kill -9`) when it is about to call the function of `node:fs`, or of a
 * database, that KILLED_AT names, with a path, or SQL, that ends so.
 */
const { KILLED_AT = '' } = process.env;
const name = KILLED_AT.slice(0, KILLED_AT.indexOf(' '));
const end = KILLED_AT.slice(name.length + 1);

type Calls = Record<string, (...args: unknown[]) => unknown>;
const calls = (name in fs ? fs : DatabaseSync.prototype) as unknown as Calls;
const call = calls[name];
if (call === undefined) throw new Error(`KILLED_AT: there is no ${name}`);
calls[name] = function (this: unknown, ...args) {
  if (String(args[0]).endsWith(end)) process.kill(process.pid, 'SIGKILL');
  return call.apply(this, args);
};
syncBuiltinESMExports();
