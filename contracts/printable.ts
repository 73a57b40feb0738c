/** What is unseen or turns others: controls (Cc), format (Cf), line and paragraph separators, half characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/** Most lines are of nothing else: looking for that costs a fifth. */
const PLAIN_LINES = /^[\n\x20-\x7e]*$/;
const UNSEEN_IN_LINES = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Lines for a terminal or a log in which nothing hides or commands. JSON's escapes: JSON stays the same value. */
export const printable = (text: string): string =>
  PLAIN_LINES.test(text) ? text : text.replace(UNSEEN_IN_LINES, escaped);

/** The same of a text that stands within one line, such as a name that somebody else has given. */
export const onOneLine = (text: string): string => text.replace(UNSEEN, escaped);

const BRIEF_CHARS = 300;

/** The same of what may be of any length, such as what is amiss with an event of somebody else's: as much as tells what it is. */
export const brief = (text: string): string => bounded(text, BRIEF_CHARS);

/** The same of what has more to tell. */
export const bounded = (text: string, charsMax: number): string =>
  onOneLine(text.length > charsMax ? `${text.slice(0, charsMax)}…` : text);

/** What commands a terminal, or ends a line: no header can carry it. */
export const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/**
 * What would not stand on one line as typed: controls, line ends, turned directions, half characters. Joiners do: names of
 * many scripts have them.
 */
export const NOT_ON_A_LINE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/u;

/** What is not seen, or means nothing that everybody knows: characters without an owner, too. */
const UNREADABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Text of others in a message for a caller, who has no use for what it cannot read. */
export const readable = (text: string): string => text.replace(UNREADABLE, '?');

function escaped(character: string): string {
  let units = '';
  for (let at = 0; at < character.length; at++) units += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return units;
}
