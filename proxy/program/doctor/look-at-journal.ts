import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { groupedCount } from '../../../contracts/money.ts';
import { readBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { journalFolder, listSegments, segmentFile } from '../../../ledger/journal/segment-folder.ts';
import { type Examined, type Finding, fault, looked, ok, warn } from './finding.ts';

/** What the journal holds of requests, against its bound. */
export const lookAtJournal = ({ configuration: { data, journal }, isServed, timeMs }: Examined): Promise<Finding> =>
  looked(timeMs, {
    check: 'journal',
    advice: 'what is no file of it is to be moved away; it is whole otherwise',
    look: () => {
      const folder = journalFolder(data);
      if (!existsSync(folder)) return ok('there is none yet');
      const held = readBesideGateway(folder);
      const ended = held.filter(({ finished }) => finished !== null).length;
      const bytes = bytesOf(folder);
      const says =
        `${groupedCount(held.length - ended)} requests under way, ${groupedCount(ended)} ended and not settled; ` +
        `${groupedCount(bytes)} of ${groupedCount(journal.maxBytes)} bytes`;
      if (bytes >= journal.maxBytes) return fault(`${says}: requests are refused`, BACK);
      if (bytes >= journal.maxBytes / 2) return warn(says, BACK);
      const damaged = readdirSync(folder).filter((name) => name.endsWith('.damaged'));
      if (damaged.length > 0) return warn(`${says}; ${damaged.join(', ')} could not be read whole`, DAMAGED);
      return held.length > 0 && !isServed ? warn(says, 'the next start settles them') : ok(says);
    },
  });

const BACK = 'bring the event log back: it is emptied by itself then';
const DAMAGED = 'compare the providers’ bills (gateway ledger reconcile), then move it away';

/** A segment may go meanwhile. */
const bytesOf = (folder: string): number =>
  listSegments(folder)
    .map((segment) => statSync(join(folder, segmentFile(segment)), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, bytes) => sum + bytes, 0);
