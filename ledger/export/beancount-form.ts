import { onOneLine } from '../../contracts/printable.ts';
import type { Entry } from '../postings/bookkeeper.ts';
import { OPENING } from '../postings/chart-of-accounts.ts';
import type { Balances, BooksForm, Period } from './book-entries.ts';
import { usdOfMicro } from './decimal-text.ts';
import { factsOf } from './entry-facts.ts';
import { inWords } from './hledger-form.ts';

/** Before all days: when an account begins is no event, and the file is written as the events come. */
const ALWAYS = '1970-01-01';

/**
 * A ledger for beancount that passes `bean-check` with its pedantic plugin: what each account has at the end is asserted on
 * the day after the last, for there a balance is that of a day's beginning; without a tolerance.
 */
export function beancountForm(period: Period): BooksForm {
  const opened = new Map<string, string>();
  /** The account's name in beancount, and its opening where it was not there yet. */
  const open = (account: string): readonly [name: string, opening: string] => {
    const known = opened.get(account);
    if (known !== undefined) return [known, ''];
    const name = beancountName(account);
    opened.set(account, name);
    return [name, `${ALWAYS} open ${name} USD\n`];
  };
  const head = [
    `; From a model gateway's ledger; ${inWords(period)}`,
    'option "title" "Model gateway"',
    'option "operating_currency" "USD"',
    `${ALWAYS} commodity USD\n`,
  ];
  return {
    begin: () => head.join('\n'),
    entry: (entry) => {
      let [openings, lines] = ['', ''];
      for (const { account, microUsd } of entry.postings) {
        const [name, opening] = open(account);
        openings += opening;
        lines += `  ${name}  ${usdOfMicro(microUsd)} USD\n`;
      }
      return `${openings}\n${headOf(entry)}${lines}`;
    },
    *end({ opening, closing, lastDay }: Balances) {
      if (opening.size > 0) yield* openingEntry(opening, period, open);
      const day = lastDay ?? period.from?.slice(0, 10);
      if (day === undefined) return;
      const after = dayAfter(day);
      for (const [account, microUsd] of closing)
        yield `${after} balance ${beancountName(account)}  ${usdOfMicro(microUsd)} ~ 0 USD\n`;
    },
  };
}

function* openingEntry(
  opening: ReadonlyMap<string, bigint>,
  { from }: Period,
  open: (account: string) => readonly [string, string],
): Generator<string> {
  for (const account of [...opening.keys(), OPENING]) yield open(account)[1];
  yield `\n${from?.slice(0, 10)} * "Opening balances"\n`;
  let rest = 0n;
  for (const [account, microUsd] of opening) {
    yield `  ${beancountName(account)}  ${usdOfMicro(microUsd)} USD\n`;
    rest -= microUsd;
  }
  yield `  ${OPENING}  ${usdOfMicro(rest)} USD\n\n`;
}

function headOf(entry: Entry): string {
  const { recorded, recordedAt } = entry;
  const { request, key, model, grant } = factsOf(entry);
  const metadata = [field('event', recorded.id), field('at', recordedAt), field('request', request)];
  metadata.push(field('key', key), field('model', model), field('grant', grant));
  return `${recordedAt.slice(0, 10)} * "${recorded.type}" ${quoted(`${recorded.stream}@${recorded.revision}`)}\n${metadata.join('')}`;
}

const field = (name: string, value: string): string => (value === '' ? '' : `  ${name}: ${quoted(value)}\n`);

const quoted = (text: string): string => `"${onOneLine(text).replaceAll(/["\\]/g, '\\$&')}"`;

/**
 * A part of a name begins with a capital or a digit there, and has letters, digits and hyphens. An account's id has lower case,
 * so capitals can stand for what else it has: `acct_1a-b` is `A-acct-1aHb`. Two ids never have one name.
 */
function beancountName(account: string): string {
  const [root, group, ...parts] = account.split(':');
  const names = parts.map((part) =>
    /^[A-Z]/.test(part) ? part : `A-${part.replaceAll('-', 'H').replaceAll('_', '-')}`,
  );
  return [root, group, ...names].join(':');
}

const DAY_MS = 86_400_000;
const dayAfter = (day: string): string => new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
