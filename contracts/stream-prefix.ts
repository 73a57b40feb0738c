import { z } from 'zod';
import { LEDGER_CATEGORIES } from './ids.ts';

/** With one of them a ledger without a prefix would take the streams for its own. */
const OWN_PREFIXES: ReadonlySet<string> = new Set([...LEDGER_CATEGORIES, 'clock'].map((category) => `${category}-`));

/** What all streams of a ledger begin with on a server; by its one hyphen no prefix begins with another ledger's. */
export const streamPrefixField = z
  .string()
  .regex(/^(|[A-Za-z0-9_.]{1,64}-)$/, 'expected letters, digits, _ or . and one hyphen at the end, as "gateway-"')
  .refine(
    (prefix) => !OWN_PREFIXES.has(prefix),
    'expected another one, as "gateway-": with this one streams of a ledger without a prefix begin',
  );
