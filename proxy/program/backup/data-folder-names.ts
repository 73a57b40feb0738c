import { NOTE_FILE } from '../../../ledger/identity/folder-note.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';

/** What of a data folder stands nowhere else, by its name; the ledger and the journal are copied in ways of their own. */
const KEPT = new RegExp(
  `^(${NOTE_FILE}|stream-prefix|providers\\.json|proxy-id|proxy-claims\\.json|refused\\.json` +
    '|to-do-again\\.generation-\\d+\\.json|lost-requests\\.generation-\\d+\\.ndjson|views\\.db\\.before-generation-\\d+(?:\\.\\d+)?)$',
);

/** Files that belong to what is copied. */
const WITH_OTHERS = /^(ledger\.db(?:-wal|-shm|-pair)?|journal|journal-aside|views\.db-(?:wal|shm))$/;
const SECRET = /^seal-key/;
const MADE_ANEW = /^(views\.db|seal-frontier\.json)/;

export const isKept = (name: string): boolean => KEPT.test(name);

/** What of a data folder a backup leaves out, and why. @param withViews whether the views are in it */
export function leftOutOf(names: readonly string[], withViews: boolean): { name: string; why: string }[] {
  const isIn = (name: string): boolean => isKept(name) || WITH_OTHERS.test(name) || (withViews && name === VIEWS_FILE);
  return names
    .filter((name) => !isIn(name))
    .sort()
    .map((name) => ({ name, why: whyLeftOut(name) }));
}

function whyLeftOut(name: string): string {
  if (SECRET.test(name)) return 'a secret: keep it elsewhere';
  return MADE_ANEW.test(name) ? 'made anew from the ledger' : 'no file of this program';
}
