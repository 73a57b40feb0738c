import { onOneLine } from '../../contracts/printable.ts';
import type { Entry } from '../postings/bookkeeper.ts';
import { OPENING } from '../postings/chart-of-accounts.ts';
import type { Balances, BooksForm, Period } from './book-entries.ts';
import { usdOfMicro } from './decimal-text.ts';
import { factsOf } from './entry-facts.ts';

/**
 * A journal for hledger that passes its strict checks (`hledger check -s`): commodity and accounts are declared, and the
 * last entry asserts what each account has at the end.
 */
export function hledgerForm(period: Period): BooksForm {
  const declared = new Set<string>();
  const declare = (account: string): string => {
    if (declared.has(account)) return '';
    declared.add(account);
    return `account ${account}\n`;
  };
  return {
    begin: () => `; From a model gateway's ledger; ${inWords(period)}\ndecimal-mark .\ncommodity 1000.000000 USD\n`,
    entry: (entry) => {
      let [declarations, lines] = ['', ''];
      for (const { account, microUsd } of entry.postings) {
        declarations += declare(account);
        lines += `    ${account}  ${usdOfMicro(microUsd)} USD\n`;
      }
      return `${declarations}\n${headOf(entry)}${lines}`;
    },
    *end({ opening, closing, lastDay }: Balances) {
      if (opening.size > 0) yield* openingEntry(opening, period, declare);
      const day = lastDay ?? period.from?.slice(0, 10);
      if (day === undefined || closing.size === 0) return;
      yield `\n${day} * Closing balances\n`;
      for (const [account, microUsd] of closing) yield `    ${account}  0 USD = ${usdOfMicro(microUsd)} USD\n`;
    },
  };
}

function* openingEntry(
  opening: ReadonlyMap<string, bigint>,
  { from }: Period,
  declare: (account: string) => string,
): Generator<string> {
  for (const account of [...opening.keys(), OPENING]) yield declare(account);
  yield `\n${from?.slice(0, 10)} * Opening balances\n`;
  let rest = 0n;
  for (const [account, microUsd] of opening) {
    yield `    ${account}  ${usdOfMicro(microUsd)} USD\n`;
    rest -= microUsd;
  }
  yield `    ${OPENING}  ${usdOfMicro(rest)} USD\n`;
}

function headOf(entry: Entry): string {
  const { recorded, recordedAt } = entry;
  const { request, key, model, grant } = factsOf(entry);
  const tags = [tag('event', recorded.id), tag('at', recordedAt), tag('request', request)];
  tags.push(tag('key', key), tag('model', model), tag('grant', grant));
  return `${recordedAt.slice(0, 10)} * (${recorded.stream}@${recorded.revision}) ${recorded.type}\n    ; ${tags.filter((one) => one !== '').join(', ')}\n`;
}

/** A tag's value ends with a comma or the line, whoever has chosen it. */
const tag = (name: string, value: string): string =>
  value === '' ? '' : `${name}:${onOneLine(value).replaceAll(',', ';')}`;

/** The period as a sentence's end. */
export const inWords = ({ from, to }: Period): string =>
  `booked ${from === null ? 'from the beginning' : `from ${from} (inclusive)`} ${to === null ? 'to the end' : `to ${to} (exclusive)`}`;
