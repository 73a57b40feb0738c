import { closeSync } from 'node:fs';
import type { StoredView, ViewTable } from '../../projections/view.ts';
import { ViewStore, ViewsNotWrittenError } from '../../projections/view-store.ts';
import { takeDescriptors } from '../fixtures/processes/take-descriptors.ts';

/** What becomes of a store of views that is opened with none to some descriptors left, and then with enough. Prints it as JSON. */
const [path = ''] = process.argv.slice(2);
/** More than a thread, its modules and a file with what SQLite puts beside it take. */
const ENOUGH = 16;
const TABLE: ViewTable = { name: 'counted_v1', columns: { id: 'TEXT' }, keyColumns: 1 };
const VIEW: StoredView = { name: 'counted', version: 1, tables: [TABLE], *takeChanges() {}, restore() {}, clear() {} };
const AT = { source: 'log', checkpoint: '1', currentAtMs: null };

const died: string[] = [];
const became: string[] = [];

async function openAndWrite(): Promise<string> {
  let store: ViewStore | null = null;
  try {
    // It looks at the room, and so at the file, before anything is written.
    const onDied = (error: Error): void => void died.push(error.message);
    store = ViewStore.open({ path, views: [VIEW], keep: true, keepFreeBytes: 0, onDied });
    await store.write([{ table: TABLE, values: ['1'] }], AT);
    return 'written';
  } catch (error) {
    if (!(error instanceof ViewsNotWrittenError && error.mayPass)) throw error;
    return store === null ? 'not opened' : 'not started';
  } finally {
    await store?.close();
  }
}

await openAndWrite();
for (let left = 0; left <= ENOUGH; left++) {
  const taken = takeDescriptors();
  for (const fd of taken.splice(0, left)) closeSync(fd);
  became.push(await openAndWrite());
  for (const fd of taken) closeSync(fd);
}
console.log(JSON.stringify({ died, became: [...new Set(became)], last: became.at(-1) }));
