/** Slips of the hand that still leave a name recognisable: letters that are missing, too many, or others. */
const SLIPS_MAX = 2;

/** The known name that a name seems to have been meant for; null where it is one of them, or like none. */
export function nearName(name: string, known: Iterable<string>): string | null {
  let nearest: string | null = null;
  let fewest = SLIPS_MAX + 1;
  for (const one of known) {
    if (one === name) return null;
    const slips = Math.abs(one.length - name.length) > SLIPS_MAX ? fewest : slipsBetween(one, name);
    if (slips >= fewest) continue;
    nearest = one;
    fewest = slips;
  }
  return nearest;
}

/** The Levenshtein distance. */
function slipsBetween(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row++) {
    const slips = [row];
    for (let at = 1; at <= other.length; at++) {
      const replaced = (above[at - 1] ?? 0) + (one[row - 1] === other[at - 1] ? 0 : 1);
      slips.push(Math.min(replaced, (above[at] ?? 0) + 1, (slips[at - 1] ?? 0) + 1));
    }
    above = slips;
  }
  return above[other.length] ?? 0;
}
