#!/usr/bin/env -S node --max-semi-space-size=16
// @ts-check
// The one file that is no TypeScript: where what was compiled is kept, Node then need not load what takes types out, which is
// 11 MB resident and 40 ms of every command.
import { statSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

// Node's own answer to SIGUSR1, by which others reopen their logs, is a debugger at 127.0.0.1:9229 that asks nobody who he is:
// whoever has a login on the machine could run his code here and read the providers' keys. A listener takes its place, however
// the program is started; Node's own start, some 20 ms, is before it, for which `--disable-sigusr1` stands where one Node is sure.
process.on('SIGUSR1', () => undefined);

// An older one would end in a fault of syntax, or of what it does not have: nothing above may be what it lacks.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(`gateway: it needs Node 24.15 or a later one, and this is ${process.versions.node}\n`);
  process.exit(2);
}

// Whatever this program makes is its owner's alone, and SQLite's own files, too: accounts, addresses and hashes of keys are
// in them. The one place that says so; the umask of whoever starts it says nothing.
process.umask(0o077);

// Else 64 MiB of long bodies would be reason enough to V8 to collect everything, again and again, and meanwhile nobody is
// served. This counts them with the rest of the heap. Their bytes are bounded (`bodies.maxBytes`).
setFlagsFromString('--external-memory-accounted-in-global-limit');

// What was compiled is kept from start to start: half of a command's time, and a seventh of a gateway's memory. It is run as it
// is, hence in a folder where none but the installation's owner writes, and by nobody else's process: what root left there would
// be in the way of the owner's next `npm ci`. Threads go by the variable, this one by the call, for what is imported after it.
const installation = join(import.meta.dirname, '..');
if (statSync(installation).uid === process.getuid?.()) {
  process.env.NODE_COMPILE_CACHE ||= join(installation, 'node_modules', '.cache', 'gateway');
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
}

const { runProcess } = await import('./program/run-process.ts');
await runProcess();
