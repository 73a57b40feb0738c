import { onOneLine } from '../../contracts/printable.ts';

/** Text that is HTML already. `html` makes it; made elsewhere, it is of our own words alone. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Piece = string | number | Html | readonly Html[];

/** A template whose values are escaped, also within quoted attributes, but for what is `Html` already. */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return new Html(strings.map((text, at) => (at === 0 ? text : textOf(pieces[at - 1] ?? '') + text)).join(''));
}

function textOf(piece: Piece): string {
  if (piece instanceof Html) return piece.text;
  if (typeof piece === 'object') return piece.map(({ text }) => text).join('\n');
  return escaped(String(piece));
}

/** What turns directions or is not seen is shown as JSON shows it. */
const escaped = (text: string): string =>
  onOneLine(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
