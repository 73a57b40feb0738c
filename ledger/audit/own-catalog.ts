import { createHash } from 'node:crypto';
import type { OwnListedPlan, PlanOf } from './own-plan.ts';
import { CLOCKS_MS, KNOWN_LATE_MS } from './own-times.ts';
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
  readonly publishedAt: string;
  readonly models: readonly StoredModel[];
  /** Events of the first three versions have none. */
  readonly plans?: readonly OwnListedPlan[];
}

type Told = (what: string, found?: unknown, expected?: unknown) => void;

/** A card as it was published first. */
interface KnownCard {
  readonly id: string;
  readonly version: number;
  readonly hash: string;
  readonly card: OwnCard;
  readonly publishedAt: string;
  /** Requests that start before can surely not be by it, nor those that start from the end on (RFC 3339); null is none yet. */
  readonly from: string;
  until: string | null;
  replacedAt: string | null;
}

/** Every rate card that the catalog's events have published, each with its hash recomputed. */
export class OwnCatalog {
  readonly #cards = new Map<string, KnownCard>();
  readonly #byHash = new Map<string, KnownCard>();
  /** The newest version of each card, by its id. */
  readonly #newest = new Map<string, number>();
  /** Those of the newest catalog. */
  #inForce: ReadonlySet<KnownCard> = new Set();
  #version = 0;
  /** By version and id. */
  readonly #plans = new Map<string, OwnListedPlan>();

  take({ data }: StoredEvent, tell: Told): void {
    const { version, hash, publishedAt, models, plans = [] } = data as CatalogData;
    if (version !== this.#version + 1) tell("the catalog's version", version, this.#version + 1);
    this.#version = version;
    const said = models.map(withoutDefaults);
    const own = sha256(JSON.stringify(plans.length === 0 ? said : { models: said, plans }));
    for (const plan of plans) this.#plans.set(`${version} ${plan.id}`, plan);
    if (hash !== own) tell("the catalog's hash", hash, own);
    const before = this.#inForce;
    this.#inForce = new Set(
      models
        .flatMap(({ rateCard, betas }) => [rateCard, ...(betas?.listed ?? []).flatMap((beta) => beta.rateCard ?? [])])
        .map((card) => this.#publish(card, publishedAt, tell)),
    );
    for (const card of before) if (!this.#inForce.has(card)) Object.assign(card, replacedAt(publishedAt));
  }

  /** By the very version that a usage names; of the model, or of a beta of it, and in force when it started. */
  readonly cardOf: CardOf = ({ model, rateCard, startedAt }: UsageData) => {
    const { id, version, hash } = rateCard;
    if (id !== model && !id.startsWith(`${model}+`)) return `names the rate card of ${id}, and is of ${model}`;
    const ofHash = this.#byHash.get(hash);
    const known = ofHash?.id === id && ofHash.version === version ? ofHash : this.#cards.get(keyOf(rateCard));
    if (known === undefined) return `names version ${version} of the rate card ${id}, which no catalog has published`;
    if (known.hash !== hash) return `names ${id} ${version} by the hash ${hash}, should be ${known.hash}`;
    return startedAt < known.from || (known.until !== null && startedAt >= known.until)
      ? `starts at ${startedAt}, and names version ${version} of the rate card ${id}, in force from ${known.publishedAt} to ${known.replacedAt ?? 'now'}`
      : known.card;
  };

  /** As a version of the catalog has it. */
  readonly planOf: PlanOf = (version, id) => this.#plans.get(`${version} ${id}`) ?? null;

  #publish(stored: StoredCard, publishedAt: string, tell: Told): KnownCard {
    const { id, version, rates, fastMultiplier, uses = {} } = stored;
    const priced = Object.entries(uses).toSorted(([one], [other]) => (one < other ? -1 : 1));
    const line = [id, version, ...TOKEN_CLASSES.map((name) => rates[name]), fastMultiplier];
    const hash = sha256(JSON.stringify(priced.length === 0 ? line : [...line, priced]));
    if (stored.hash !== hash) tell(`the hash of rate card ${id} ${version}`, stored.hash, hash);
    const before = this.#cards.get(keyOf(stored));
    if (before !== undefined && before.hash !== hash)
      tell(`rate card ${id} ${version}, published before`, hash, before.hash);
    // What was published first was what everything was billed by; it may be in force again.
    if (before !== undefined) return Object.assign(before, { until: null, replacedAt: null });
    const newest = this.#newest.get(id) ?? 0;
    if (version !== newest + 1) tell(`the version of rate card ${id}`, version, newest + 1);
    this.#newest.set(id, version);
    const known: KnownCard = { id, version, hash, publishedAt, card: ownCard(stored), ...inForceFrom(publishedAt) };
    this.#cards.set(keyOf(stored), known);
    this.#byHash.set(hash, known);
    return known;
  }
}

const inForceFrom = (publishedAt: string): Pick<KnownCard, 'from' | 'until' | 'replacedAt'> => ({
  from: later(publishedAt, -CLOCKS_MS),
  ...{ until: null, replacedAt: null },
});

const replacedAt = (publishedAt: string): Pick<KnownCard, 'until' | 'replacedAt'> => ({
  until: later(publishedAt, KNOWN_LATE_MS),
  replacedAt: publishedAt,
});

const later = (instant: string, ms: number): string => new Date(Date.parse(instant) + ms).toISOString();

const ownCard = ({ rates, fastMultiplier, uses = {} }: StoredCard): OwnCard => ({
  input: BigInt(rates.input),
  output: BigInt(rates.output),
  cacheRead: BigInt(rates.cacheRead),
  cacheWrite5m: BigInt(rates.cacheWrite5m),
  cacheWrite1h: BigInt(rates.cacheWrite1h),
  hasFastLane: fastMultiplier !== null,
  uses: new Map(Object.entries(uses).map(([use, rate]) => [use, BigInt(rate)])),
});

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
