import { InvalidArgumentError, Option } from 'commander';
import type { StreamPlace } from '../../ledger/statement/stream-range.ts';
import { instantArgument, MONTH, wholeNumberArgument, withinYears } from './command-arguments.ts';
import { CommandError, EXIT } from './command-context.ts';

const FROM = 'from that month, date or instant (UTC) on';
const TO = 'up to before that date or instant; a month is in it whole';

/** `--from` and `--to` of each command that has them: milliseconds, the second exclusive. */
export const rangeOptions = (): readonly [from: Option, to: Option] => [
  new Option('--from <time>', FROM).argParser(fromArgument),
  new Option('--to <time>', TO).argParser(toArgument),
];

/** The same, where a revision may stand for a time. */
export const placeRangeOptions = (): readonly [from: Option, to: Option] => [
  new Option('--from <place>', `${FROM}, or from that revision`).argParser((text) => placeOf(text, fromArgument)),
  new Option('--to <place>', `${TO}, as a revision is`).argParser((text) => placeOf(text, toArgument)),
];

/** @throws CommandError for a range that nothing can be in */
export function assertRange(isNothingBetween: boolean): void {
  if (isNothingBetween) throw new CommandError('--from: must be before --to', EXIT.usage);
}

const placeOf = (text: string, timeOf: (text: string) => number): StreamPlace =>
  /^\d+$/.test(text)
    ? { type: 'revision', revision: wholeNumberArgument(text) }
    : { type: 'instant', atMs: timeOf(text) };

const fromArgument = (text: string): number => beginningOf(text, 0);
/** A month ends where the next begins. */
const toArgument = (text: string): number => beginningOf(text, 1);

function beginningOf(text: string, monthsLater: number): number {
  if (MONTH.test(text)) {
    const begin = new Date(`${text}-01`);
    begin.setUTCMonth(begin.getUTCMonth() + monthsLater);
    return withinYears(begin.getTime());
  }
  if (/^\d{4}-\d+$/.test(text)) throw new InvalidArgumentError('expected a month such as 2026-01');
  return instantArgument(text);
}
