import type { BackupManifest } from '../../../ledger/backup/manifest.ts';
import { NOTE_FILE } from '../../../ledger/identity/folder-note.ts';
import { LEDGER_FILE } from '../../../ledger/ledger-file.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';

/** What of a data folder stands nowhere else, by its name; the ledger and the journal are copied in ways of their own. */
const KEPT = new RegExp(
  `^(${NOTE_FILE}|stream-prefix|providers\\.json|proxy-id|proxy-claims\\.json|refused\\.json|parked\\.json` +
    '|to-do-again\\.generation-\\d+\\.json|lost-requests\\.generation-\\d+\\.ndjson|views\\.db\\.before-generation-\\d+(?:\\.\\d+)?)$',
);

/** Files that belong to what is copied. */
const WITH_OTHERS = /^(ledger\.db(?:-wal|-shm|-pair)?|journal|journal-aside|views\.db-(?:wal|shm))$/;
const SECRET = /^seal-key/;
const MADE_ANEW = /^(views\.db|views\.previous\.db|rebuild$|seal-frontier\.json)/;
const ASKED = /^operator-(request|answer)/;

export const isKept = (name: string): boolean => KEPT.test(name);

/** What of a data folder a backup leaves out, and why. @param of whether the ledger is a file of it; else views are in the backup */
export function leftOutOf(names: readonly string[], { isFile }: { readonly isFile: boolean }): LeftOut[] {
  const isIn = (name: string): boolean =>
    isKept(name) || (WITH_OTHERS.test(name) && (isFile || name !== LEDGER_FILE)) || (!isFile && name === VIEWS_FILE);
  return names
    .filter((name) => !isIn(name))
    .sort()
    .map((name) => ({ name, why: whyLeftOut(name) }));
}

function whyLeftOut(name: string): string {
  if (SECRET.test(name)) return 'a secret: keep it elsewhere';
  if (name === LEDGER_FILE) return 'not where the ledger is';
  if (ASKED.test(name)) return 'between a command and the running gateway';
  return MADE_ANEW.test(name) ? 'made anew from the ledger' : 'no file of this program';
}

type LeftOut = BackupManifest['leftOut'][number];
