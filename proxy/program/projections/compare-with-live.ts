import { counted, groupedCount } from '../../../contracts/money.ts';
import { areOfThisProgram } from '../../../projections/prepared-views.ts';
import { type ComparedFiles, compareFiles } from '../../../projections/rebuild/compare-files.ts';
import type { RowDifference } from '../../../projections/rebuild/row-difference.ts';
import { upcastInWords, versionsInWords } from './versions-in-words.ts';

export interface ComparedWithLive {
  /** Null where nothing was. */
  readonly compared: ComparedFiles | null;
  /** Why nothing was. */
  readonly notCompared: string | null;
  readonly differences: number;
  /** The first of them. */
  readonly shown: readonly RowDifference[];
}

interface MadeAnew {
  readonly live: string;
  readonly rebuilt: string;
  /** Of one view alone, by its name. */
  readonly only: string | null;
  /** Why the live ones cannot be relied on; null where they can. */
  readonly damage: string | null;
}

/** What views that were made anew have otherwise than the live ones. @throws Error of SQLite */
export function compareWithLive({ live, rebuilt, only, damage }: MadeAnew): ComparedWithLive {
  if (damage !== null) return nothing(`the live views cannot be relied on (${damage})`);
  const isOfThisProgram = areOfThisProgram(live);
  if (isOfThisProgram === null) return nothing('there are no live views yet');
  const shown: RowDifference[] = [];
  let differences = 0;
  const onDifference = (difference: RowDifference): void => {
    if (only !== null && !difference.table.startsWith(`${only}_v`)) return;
    differences++;
    if (shown.length < SHOWN_MAX) shown.push(difference);
  };
  try {
    const compared = compareFiles({ live, rebuilt }, onDifference);
    // Of another version, and made to be of none of this one's.
    const isOther = !isOfThisProgram && Object.keys(compared?.upcastFrom ?? {}).length === 0;
    if (compared === null || isOther) return nothing(ofOtherProgram(live));
    return { compared, notCompared: null, differences, shown };
  } catch (error) {
    // Rows of an earlier version that are not of their form hold up nothing that takes their place.
    if (isOfThisProgram || !(error instanceof Error)) throw error;
    return nothing(
      `the live views are of an earlier version, and cannot be read as ones of this one (${error.message})`,
    );
  }
}

export const SHOWN_MAX = 1_000;

const nothing = (notCompared: string): ComparedWithLive => ({ compared: null, notCompared, differences: 0, shown: [] });

const ofOtherProgram = (live: string): string =>
  `the live views are ones that this program can make nothing of (${versionsInWords(live)}), and that the program compares which has written them`;

export const comparedInWords = ({ compared, notCompared, differences }: ComparedWithLive): string =>
  compared === null
    ? `${notCompared}: nothing was compared`
    : `${counted(compared.compared, 'row')} of accounts compared with the live ones, ` +
      `${groupedCount(compared.movedOn)} went on meanwhile${asideInWords(compared)}: ${counted(differences, 'difference')}` +
      upcastInWords(compared.upcastFrom);

const asideInWords = ({ setAside }: ComparedFiles): string =>
  setAside === 0 ? '' : `, ${groupedCount(setAside)} hidden or parked`;
