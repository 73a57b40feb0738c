import { Help } from 'commander';

const HELP = new Help();
/** What commander takes where nobody says how wide a terminal is. */
const COLUMNS = 80;

/** With less room beside a long name commander would leave what it says unwrapped. */
export const HELP_TEXT_COLUMNS_LEAST = 30;

/** Help whose sentences, of which commander wraps none that are added to it, keep to a terminal; what is to be typed begins with blanks and stays whole. */
export const helpInColumns = (text: string, columns = COLUMNS): string =>
  text
    .split('\n')
    .map((line) => (line.startsWith(' ') ? line : HELP.boxWrap(line, columns)))
    .join('\n');
