/**
 * The options of a long run. One that cannot be read is told in one line, and ends the process with 2.
 * @param program that is told, as `npm run fuzz --`
 */
export function optionsOf<T>(program: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    process.stderr.write(`${program}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}

export const SEED_MAX = 2 ** 32 - 1;

/** @throws RangeError for what is none, or out of the range */
export function wholeNumber(name: string, text: string, max: number, min = 0): number {
  const number = numberIn(name, text, max, min);
  if (!Number.isInteger(number)) throw new RangeError(`--${name}: expected a whole number from ${min} to ${max}`);
  return number;
}

/** @throws RangeError for what is none, or out of the range */
export function numberIn(name: string, text: string, max: number, min: number): number {
  const number = Number(text);
  if (text.trim() === '' || !(number >= min && number <= max))
    throw new RangeError(`--${name}: expected a number from ${min} to ${max}`);
  return number;
}
