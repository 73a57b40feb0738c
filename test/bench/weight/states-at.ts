import { accountId } from '../../../contracts/ids.ts';
import { withLogFile } from '../../../ledger/event-log/sqlite/log-file.ts';
import { stateAt } from '../../../ledger/statement/state-at.ts';

/**
 * What accounts of a filled ledger's file were at an instant, one by one, as `gateway ledger replay --at` finds it: so many of
 * them, from the first to the last at even distances, twice. Prints how many events they have, and how long the second time took.
 */
const [path = '', accounts, read] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const place = { type: 'instant', atMs: Date.now() } as const;
await withLogFile(path, async (log) => {
  for (const isMeasured of [false, true]) {
    const startMs = performance.now();
    let events = 0;
    for (let at = 0; at < read; at++) {
      const id = accountId(`acct_filled${Math.floor((at * accounts) / read)}`);
      const { found, disorder } = await stateAt(log, id, place);
      if (found === null || disorder !== null) throw new Error(`${id} is not as it was filled`);
      events += found.revision + 1;
    }
    const ms = performance.now() - startMs;
    if (isMeasured) process.stdout.write(`${JSON.stringify({ events, ms })}\n`);
  }
});
