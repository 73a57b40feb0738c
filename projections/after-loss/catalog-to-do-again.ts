import { z } from 'zod';
import { decodeEvent } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { CATALOG_STREAM } from '../../contracts/ids.ts';
import { readNewestPublication } from '../known-views.ts';

const card = z.object({ hash: z.string() });
/** What of a publication tells its prices apart; read from views of any version. */
const publicationSchema = z.object({
  version: z.int(),
  hash: z.string(),
  models: z.array(
    z.object({
      id: z.string(),
      rateCard: card,
      betas: z.object({ listed: z.array(z.object({ rateCard: card.nullish() })) }).nullish(),
    }),
  ),
});
type Publication = z.infer<typeof publicationSchema>;

/** The catalog that views know and their ledger has lost: its prices go back to those of `is`. */
export interface CatalogToDoAgain {
  readonly was: { readonly version: number; readonly hash: string };
  /** Null where the ledger has none. */
  readonly is: { readonly version: number; readonly hash: string } | null;
  /** The models whose prices differ, also where one of the two lacks them; by id. */
  readonly pricesDiffer: readonly string[];
}

/** Null where the ledger has the newest publication that the views know, and where they know none. @throws EventLogError */
export async function findCatalogToDoAgain(log: EventLog, viewsFile: string): Promise<CatalogToDoAgain | null> {
  const newest = readNewestPublication(viewsFile);
  if (newest === null) return null;
  const known = publicationSchema.parse(JSON.parse(newest.publication));
  let last: Publication | null = null;
  for await (const recorded of log.readStream(CATALOG_STREAM)) {
    const event = decodeEvent(recorded);
    if (event.type !== 'CatalogPublished') continue;
    last = event.data;
    if (recorded.revision === newest.revision && last.hash === known.hash) return null;
  }
  if (last?.hash === known.hash) return null;
  const [was, is] = [pricesOf(known), pricesOf(last)];
  const models = new Set([...was.keys(), ...is.keys()]);
  return {
    was: namesOf(known),
    is: last === null ? null : namesOf(last),
    pricesDiffer: [...models].filter((id) => was.get(id) !== is.get(id)).sort(),
  };
}

const namesOf = ({ version, hash }: Publication) => ({ version, hash });

/** Of each model the cards that its requests can be billed by, as one text. */
const pricesOf = (publication: Publication | null): ReadonlyMap<string, string> =>
  new Map(
    (publication?.models ?? []).map(({ id, rateCard, betas }) => [
      id,
      [rateCard, ...(betas?.listed ?? []).flatMap((beta) => beta.rateCard ?? [])].map(({ hash }) => hash).join(),
    ]),
  );
