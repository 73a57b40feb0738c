import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';

/** Loaded before a program (`node --import`): the calls in FAIL_AT that give a file a name, such as `link views.db,rename views.db`, fail there. */
const failing = new Set((process.env.FAIL_AT ?? '').split(','));

for (const [name, method] of [
  ['link', 'linkSync'],
  ['rename', 'renameSync'],
] as const) {
  const real = fs[method];
  fs[method] = (from, to) => {
    if (failing.has(`${name} ${basename(String(to))}`))
      throw Object.assign(new Error(`EIO: i/o error, ${name} '${to}'`), { code: 'EIO' });
    real(from, to);
  };
}
syncBuiltinESMExports();
