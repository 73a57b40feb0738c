import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { LEDGER_CATEGORIES, StreamName } from '../../contracts/ids.ts';

type Category = (typeof LEDGER_CATEGORIES)[number];

const PUBLISHED = {
  account: true,
  catalog: true,
  /** A relay that published its own checkpoints would have something to publish for ever. */
  relay: false,
  /** Who has which name is nobody's business but the proxies'. */
  proxy: false,
  /** Whoever keeps the feed must hear that a generation has ended. */
  ledger: true,
  /** The books' own business. */
  reconciliation: false,
  /** Each seals what the relay has written of the one before: with its checkpoints there would be something to publish for ever. */
  seals: false,
} as const satisfies Record<Category, boolean>;

/** Whether the feed has an event. */
export const isPublished = ({ stream }: Pick<RecordedEvent, 'stream'>): boolean => {
  const category = categoryOf(stream);
  return Object.hasOwn(PUBLISHED, category) && PUBLISHED[category as Category];
};

const categoryOf = (stream: StreamName): string => stream.split('-', 1)[0] ?? '';
