import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { asideFolder } from '../../../ledger/journal/aside-folder.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';

/** What the program keeps in a data folder, by how its name begins: with what SQLite and a loss put beside it. */
const OURS =
  /^(ledger\.db|views\.|rebuild$|ledger-id|proxy-id|proxy-claims\.json|refused\.json|parked\.json|providers\.json|stream-prefix|seal-key|seal-frontier\.json|operator-|restore\.|to-do-again\.|lost-requests\.)/;
/** Permissions of the group and of everybody. */
const OF_OTHERS = 0o077;

interface TightenedFolder {
  /** What was made its owner's alone. */
  readonly tightened: readonly string[];
  /** What is open to others and is left so, with why; one line each. */
  readonly loose: readonly string[];
}

/**
 * Makes what an earlier program, or another hand, has left open to others its owner's alone: the program's own files, its
 * journal's folders, and the data folder itself where it is this user's and has nothing else in it. Where it has, it may be
 * somebody's who means it so, and is only told of.
 */
export function tightenFolder(data: string): TightenedFolder {
  const tightened: string[] = [];
  const loose: string[] = [];
  for (const path of openToOthers(data)) {
    if (path !== data || isOurs(data)) close(path, { tightened, loose });
    else loose.push(`${data}: others can look into this folder; chmod 700 closes it`);
  }
  return { tightened, loose };
}

/** The data folder and what the program keeps in it, as far as it is open to others. */
export function openToOthers(data: string): string[] {
  const own = namesIn(data)
    .filter((name) => OURS.test(name))
    .map((name) => join(data, name));
  return [data, ...own, ...journalsIn(data).flatMap(withItsFiles)].filter(isOpenToOthers);
}

function close(path: string, { tightened, loose }: { readonly tightened: string[]; readonly loose: string[] }): void {
  try {
    chmodSync(path, statSync(path).mode & ~OF_OTHERS);
    tightened.push(path);
  } catch (error) {
    loose.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The journal's folder, and the one beside it. */
const journalsIn = (data: string): readonly string[] => [journalFolder(data), asideFolder(journalFolder(data))];

function withItsFiles(journal: string): string[] {
  const names = statSync(journal, { throwIfNoEntry: false })?.isDirectory() === true ? namesIn(journal) : [];
  return names.length === 0 ? [] : [journal, ...names.map((name) => join(journal, name))];
}

/** A folder of this user's that is for nothing else. */
const isOurs = (data: string): boolean =>
  statSync(data).uid === process.geteuid?.() &&
  namesIn(data).every((name) => OURS.test(name) || journalsIn(data).includes(join(data, name)));

const namesIn = (folder: string): string[] => readdirSync(folder).sort();

/** What has gone meanwhile, as files beside a ledger may, is open to nobody. */
function isOpenToOthers(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & OF_OTHERS) !== 0;
}
