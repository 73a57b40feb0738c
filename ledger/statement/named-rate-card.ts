import { decodeEvent } from '../../contracts/event-codec.ts';
import type { RateCardRef } from '../../contracts/event-fields.ts';
import type { ReadableLog } from '../../contracts/event-log.ts';
import { CATALOG_STREAM } from '../../contracts/ids.ts';
import { isRateCardIntact, type RateCard } from '../../contracts/rate-card.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { cardsOf } from '../catalog/catalog-state.ts';

/** A rate card with the catalog that brought it. */
export interface NamedRateCard {
  readonly card: RateCard;
  readonly catalogVersion: number;
  readonly publishedAt: string;
}

/**
 * The rate card that a usage names, or why there is none: unlike for a debit, for an explanation a catalog that cannot be
 * read is no end. Reads the stream `catalog` up to there.
 */
export async function namedRateCard(log: ReadableLog, ref: RateCardRef): Promise<NamedRateCard | string> {
  let unreadable = '';
  for await (const recorded of log.readStream(CATALOG_STREAM)) {
    try {
      const event = decodeEvent(recorded);
      if (event.type !== 'CatalogPublished') continue;
      const { version, publishedAt, models } = event.data;
      const card = models.flatMap(cardsOf).find(({ hash }) => hash === ref.hash);
      if (card === undefined) continue;
      if (isRateCardIntact(card)) return { card, catalogVersion: version, publishedAt };
      unreadable = `; the one of catalog version ${version} does not match its hash`;
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error;
      unreadable = `; ${error.message}`;
    }
  }
  return `the catalog has no such rate card${unreadable}`;
}
