import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { eventId, position, revision } from '../../../contracts/ids.ts';
import { beancountForm } from '../../../ledger/export/beancount-form.ts';
import { type BooksForm, bookEntries } from '../../../ledger/export/book-entries.ts';
import { csvForm } from '../../../ledger/export/csv-form.ts';
import { focusForm } from '../../../ledger/export/focus-form.ts';
import { hledgerForm } from '../../../ledger/export/hledger-form.ts';
import { parquetForm } from '../../../ledger/export/parquet-form.ts';
import { granted, lifeWith, opened, requestOf, usageOf } from '../../fixtures/ledger/example-account.ts';
import { storedLife } from '../statement/stored-life.ts';

setFlagsFromString('--expose-gc');
const collect: (options: { readonly type: 'major' }) => void = runInNewContext('gc');

const WHOLE = { from: null, to: null };
const GRANT = 9_000_000_000_000n;
const DEBIT = 10n;
const REQUESTS_A_PAGE = 32;
const [usage, debit] = storedLife(lifeWith([opened, granted('g', Number(GRANT))], usageOf(1, Number(DEBIT)))).slice(-2);
const birth = storedLife([opened, granted('g', Number(GRANT))]);

/** Requests of one account without end, each with its own ids, as its log has them. */
function request(number: number): RecordedEvent[] {
  if (usage === undefined || debit === undefined) throw new Error('a billed request leaves two events');
  return [usage, debit].map((event, at) => ({
    ...event,
    id: eventId(`019a5b3c-0000-7000-8000-${(number * 2 + at).toString(16).padStart(12, '0')}`),
    revision: revision(number * 2 + at),
    position: position(number * 2 + at),
    data: event.data
      .replace(requestOf(1), requestOf(number))
      .replace(/"balanceAfter":"\d+"/, `"balanceAfter":"${GRANT - DEBIT * BigInt(number)}"`),
  }));
}

/** What is kept in memory when so many requests are written, and when so many more are, in bytes. */
async function keptAfter(form: BooksForm, few: number, many: number): Promise<readonly [number, number]> {
  const kept: number[] = [];
  async function* pages() {
    yield birth;
    for (let from = 1; from <= many; from += REQUESTS_A_PAGE) {
      yield Array.from({ length: REQUESTS_A_PAGE }, (_, at) => request(from + at)).flat();
      const written = from + REQUESTS_A_PAGE - 1;
      if (written !== few && written !== many) continue;
      // What the first has found to be nobody's is given back by the second.
      for (let times = 0; times < 2; times++) collect({ type: 'major' });
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      kept.push(heapUsed + arrayBuffers);
    }
  }
  for await (const _chunk of bookEntries(pages(), WHOLE, form));
  const [atFirst = 0, atLast = 0] = kept;
  return [atFirst, atLast];
}

/** An id that is kept, in a map or a list, is more; what the end of a Parquet file says of a group of rows is less. */
const BYTES_A_REQUEST = 24;

it.each<[string, BooksForm, { readonly few: number; readonly many: number }]>([
  ['csv', csvForm(), { few: 2_048, many: 10_240 }],
  ['hledger', hledgerForm(WHOLE), { few: 2_048, many: 10_240 }],
  ['beancount', beancountForm(WHOLE), { few: 2_048, many: 10_240 }],
  ['focus', focusForm(), { few: 2_048, many: 10_240 }],
  // Where a group of rows has just been written: two rows a request, and two of the grant.
  ['parquet', parquetForm(), { few: 8_192, many: 24_576 }],
])('%s keeps nothing of a request that is written', async (_, form, { few, many }) => {
  const [atFirst, atLast] = await keptAfter(form, few, many);
  expect((atLast - atFirst) / (many - few)).toBeLessThan(BYTES_A_REQUEST);
});
