interface Program {
  readonly args: readonly string[];
  /** Ends it, with what it says to whom. */
  readonly end: (text: string, exitCode: 0 | 2) => never;
}

/**
 * The options of a long run. `--help` is answered with the usage and 0; one that cannot be read is told in one line, and ends
 * the process with 2. @param usage that begins with the command, as `npm run fuzz -- [--seed NUMBER]`
 */
export function optionsOf<T>(usage: string, read: () => T, { args, end }: Program = THIS_PROCESS): T {
  if (args.includes('--help')) end(`${usage}\n`, 0);
  try {
    return read();
  } catch (error) {
    const [command = usage] = usage.split(' [', 1);
    const why = error instanceof Error ? error.message : String(error);
    // Node goes on with how to name a file like an option.
    return end(`${command}: ${why.replace(/\. To specify a positional .*/s, '')}; --help tells what there is\n`, 2);
  }
}

const THIS_PROCESS: Program = {
  args: process.argv.slice(2),
  end: (text, exitCode) => {
    (exitCode === 0 ? process.stdout : process.stderr).write(text);
    process.exit(exitCode);
  },
};

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
