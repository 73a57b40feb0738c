import { registerHooks } from 'node:module';

/** Loaded before a program (`node --import`): it is sent SIGNAL_AT_LOAD as it loads what serves. */
registerHooks({
  load(url, context, nextLoad) {
    if (url.endsWith('/run-serve-command.ts')) process.kill(process.pid, process.env.SIGNAL_AT_LOAD as NodeJS.Signals);
    return nextLoad(url, context);
  },
});
