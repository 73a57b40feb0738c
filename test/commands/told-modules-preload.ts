import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** Loaded before a program (`node --import`), and so in each of its threads: where each module stands that it loads is added to TOLD_MODULES_FILE. */
const file = process.env.TOLD_MODULES_FILE ?? '';

registerHooks({
  load(url, context, nextLoad) {
    appendFileSync(file, `${url}\n`);
    return nextLoad(url, context);
  },
});
