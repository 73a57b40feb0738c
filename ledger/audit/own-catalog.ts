import { createHash } from 'node:crypto';
import type { CardOf, OwnCard, StoredEvent, UsageData } from './stored-event.ts';
import { TOKEN_CLASSES } from './stored-event.ts';

interface StoredCard {
  readonly id: string;
  readonly version: number;
  readonly hash: string;
  readonly rates: Readonly<Record<(typeof TOKEN_CLASSES)[number], string>>;
  readonly fastMultiplier: number | null;
  /** Events of the first version have none. */
  readonly uses?: Readonly<Record<string, string>>;
}

interface StoredModel {
  readonly id: string;
  readonly rateCard: StoredCard;
  /** Events of earlier versions have neither. */
  readonly betas?: {
    readonly shipped: boolean;
    readonly listed: readonly { readonly name: string; readonly rateCard: StoredCard | null }[];
  };
  readonly systemRole?: boolean;
}

interface CatalogData {
  readonly version: number;
  readonly hash: string;
  readonly models: readonly StoredModel[];
}

type Told = (what: string, found?: unknown, expected?: unknown) => void;

/** Every rate card that the catalog's events have published, each with its hash recomputed. */
export class OwnCatalog {
  readonly #cards = new Map<string, { readonly hash: string; readonly card: OwnCard }>();
  #version = 0;

  take({ data }: StoredEvent, tell: Told): void {
    const { version, hash, models } = data as CatalogData;
    if (version !== this.#version + 1) tell("the catalog's version", version, this.#version + 1);
    this.#version = version;
    const own = sha256(JSON.stringify(models.map(withoutDefaults)));
    if (hash !== own) tell("the catalog's hash", hash, own);
    for (const { rateCard, betas } of models) {
      this.#publish(rateCard, tell);
      for (const beta of betas?.listed ?? []) if (beta.rateCard !== null) this.#publish(beta.rateCard, tell);
    }
  }

  /** By the very version that a usage names; of the model, or of a beta of it. */
  readonly cardOf: CardOf = ({ model, rateCard }: UsageData) => {
    if (rateCard === undefined) return 'names no rate card';
    const { id, version, hash } = rateCard;
    if (id !== model && !id.startsWith(`${model}+`)) return `names the rate card of ${id}, and is of ${model}`;
    const known = this.#cards.get(keyOf(rateCard));
    if (known === undefined) return `names version ${version} of the rate card ${id}, which no catalog has published`;
    return known.hash === hash ? known.card : `names ${id} ${version} by the hash ${hash}, should be ${known.hash}`;
  };

  #publish(stored: StoredCard, tell: Told): void {
    const { id, version, rates, fastMultiplier, uses = {} } = stored;
    const priced = Object.entries(uses).toSorted(([one], [other]) => (one < other ? -1 : 1));
    const line = [id, version, ...TOKEN_CLASSES.map((name) => rates[name]), fastMultiplier];
    const hash = sha256(JSON.stringify(priced.length === 0 ? line : [...line, priced]));
    if (stored.hash !== hash) tell(`the hash of rate card ${id} ${version}`, stored.hash, hash);
    const before = this.#cards.get(keyOf(stored));
    if (before !== undefined && before.hash !== hash)
      tell(`rate card ${id} ${version}, published before`, hash, before.hash);
    const card: OwnCard = {
      input: BigInt(rates.input),
      output: BigInt(rates.output),
      cacheRead: BigInt(rates.cacheRead),
      cacheWrite5m: BigInt(rates.cacheWrite5m),
      cacheWrite1h: BigInt(rates.cacheWrite1h),
      hasFastLane: fastMultiplier !== null,
      uses: new Map(Object.entries(uses).map(([use, rate]) => [use, BigInt(rate)])),
    };
    // What was published first was what everything was billed by.
    if (before === undefined) this.#cards.set(keyOf(stored), { hash, card });
  }
}

const keyOf = ({ id, version }: Pick<StoredCard, 'id' | 'version'>): string => `${version} ${id}`;

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

/** A catalog's hash leaves out what says nothing, so that it is what it was before it could be said. */
function withoutDefaults({ betas, systemRole, rateCard, ...model }: StoredModel): object {
  const { uses = {}, ...card } = rateCard;
  const isPlain = betas === undefined || (betas.shipped && betas.listed.length === 0);
  return {
    ...model,
    rateCard: Object.keys(uses).length === 0 ? card : { ...card, uses },
    ...(isPlain ? {} : { betas }),
    ...(systemRole === true ? { systemRole } : {}),
  };
}
