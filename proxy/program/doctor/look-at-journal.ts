import { existsSync } from 'node:fs';
import { counted, groupedCount } from '../../../contracts/money.ts';
import { lookBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { type Examined, type Finding, fault, looked, ok, warn } from './finding.ts';

/** What the journal holds of requests, against its bound. */
export const lookAtJournal = ({
  context,
  configuration: { data, journal },
  isServed,
  timeMs,
}: Examined): Promise<Finding> =>
  looked(timeMs, {
    check: 'journal',
    advice: 'what is no file of it is to be moved away; it is whole otherwise',
    look: () => {
      const folder = journalFolder(data);
      if (!existsSync(folder)) return ok('there is none yet');
      const { recovered: held, bytes, damaged } = lookBesideGateway(folder);
      const ended = held.filter(({ finished }) => finished !== null).length;
      const says =
        `${counted(held.length - ended, 'request')} under way, ${groupedCount(ended)} ended and not settled; ` +
        `${groupedCount(bytes)} of ${groupedCount(journal.maxBytes)} bytes`;
      if (bytes >= journal.maxBytes) return fault(`${says}: requests are refused`, BACK);
      if (bytes >= journal.maxBytes / 2) return warn(says, BACK);
      const [first] = damaged;
      if (first !== undefined)
        return warn(`${says}; ${first.file} is damaged at byte ${first.offset}`, afterDamage(context));
      return held.length > 0 && !isServed ? warn(says, 'the next start settles them') : ok(says);
    },
  });

const BACK = 'bring the event log back: it is emptied by itself then';
const afterDamage = (context: Examined['context']): string =>
  `the next start keeps what can be read; then compare the provider’s report (${nextCommand(startedWithOf(context), 'gateway', 'ledger', 'reconcile', 'FILE', '--provider', 'NAME')})`;
