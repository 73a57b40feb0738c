import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Loaded before a program (`node --import`): another is always first to give a file its name, that of FIRST. */
const real = fs.linkSync;
fs.linkSync = (from, to) => {
  fs.copyFileSync(process.env.FIRST ?? '', to);
  real(from, to);
};
syncBuiltinESMExports();
