import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SEALS_STREAM } from '../../contracts/ids.ts';
import type { EventPages } from './book-entries.ts';
import { exactEventLine } from './exact-event-line.ts';
import { OutFile } from './out-file.ts';

const VERIFIER = new URL('../seals/verify-export.mjs', import.meta.url);

/**
 * The whole ledger as files that a verifier reads without this program: the events in log order, the seals beside them, and
 * the public keys that the ledger itself names, and the verifier.
 * @returns how many events there are, without those of the seals
 */
export async function exportFolder(folder: string, pages: EventPages): Promise<number> {
  const files = [
    await OutFile.begin(join(folder, 'events.ndjson')),
    await OutFile.begin(join(folder, 'seals.ndjson')),
    await OutFile.begin(join(folder, 'keys.json')),
    await OutFile.begin(join(folder, 'verify-export.mjs')),
  ] as const;
  const [eventFile, sealFile, keyFile, verifierFile] = files;
  const keys: string[] = [];
  let count = 0;
  try {
    for await (const page of pages)
      for (const recorded of page) {
        const isOfSeals = recorded.stream === SEALS_STREAM;
        if (isOfSeals && recorded.type === 'SealKeyIntroduced') keys.push(recorded.data);
        if (!isOfSeals) count++;
        const written = (isOfSeals ? sealFile : eventFile).write(exactEventLine(recorded));
        if (written !== undefined) await written;
      }
    await keyFile.write(`{"keys":[${keys.join(',')}]}\n`);
    await verifierFile.write(await readFile(VERIFIER));
    for (const file of files) await file.end();
    return count;
  } catch (error) {
    for (const file of files) await file.drop();
    throw error;
  }
}
