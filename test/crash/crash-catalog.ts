import { LONG_WINDOW, LONG_WINDOW_BETA } from './planned-cases.ts';

/** Prices of a model as this test wrote them into its catalog file: pico-USD per token, whole numbers. */
export interface ModelPrices {
  readonly input: bigint;
  readonly output: bigint;
  readonly cacheRead: bigint;
  readonly cacheWrite5m: bigint;
  readonly cacheWrite1h: bigint;
  readonly hasFastLane: boolean;
  /** Pico-USD a use, by its name in an answer. A request that could have one that is not here is refused. */
  readonly uses: ReadonlyMap<string, bigint>;
  /** Whether the catalog has the beta that makes its window longer. */
  readonly hasLongWindow: boolean;
  /** Whether its provider's calls are cancelled when their client leaves. */
  readonly isCancelled: boolean;
}

export interface CrashCatalog {
  /** The catalog file's content. */
  readonly file: object;
  readonly models: readonly string[];
  readonly prices: ReadonlyMap<string, ModelPrices>;
}

/** Rates that leave a part below one micro-USD in nearly every cost, and whose cache rates are whole. */
const INPUT_STEP = 20n;
const USD_A_SEARCH = '0.010003';
const PICO_USD_A_SEARCH = 10_003_000_000n;

/**
 * A catalog of many models at one upstream. Key and model together are used for one request only, so that the ledger's
 * record of it can be told from all others without the upstream's having answered anything. What a model has beside its
 * prices goes by its place in the list, so that each sort stands beside each other.
 */
export function crashCatalog(modelCount: number): CrashCatalog {
  const prices = new Map<string, ModelPrices>();
  const entries: object[] = [];
  for (let index = 0; index < modelCount; index++) {
    const id = `opal-${String(index).padStart(3, '0')}`;
    const input = 3_000_020n + INPUT_STEP * BigInt(index * 7);
    const card: ModelPrices = {
      input,
      output: 15_000_007n + BigInt(index * 13),
      cacheRead: input / 10n,
      cacheWrite5m: (input * 5n) / 4n,
      cacheWrite1h: input * 2n,
      hasFastLane: index % 2 === 1,
      uses: new Map(index % 3 === 0 ? [] : [['web_search_requests', PICO_USD_A_SEARCH]]),
      hasLongWindow: index % 5 === 1,
      isCancelled: index % 7 === 3,
    };
    prices.set(id, card);
    entries.push(catalogEntry(id, card));
  }
  return { file: { models: entries }, models: [...prices.keys()], prices };
}

/** Names of the providers that a run configures: both are its one upstream. */
const PROVIDERS = { drained: 'crash', cancelled: 'hasty' } as const;

const catalogEntry = (id: string, card: ModelPrices): object => ({
  id,
  display_name: id,
  family: 'opal',
  label: id,
  group: 'Crash',
  context_window: 200_000,
  caching: 'explicit',
  lanes: card.hasFastLane ? ['standard', 'fast'] : ['standard'],
  price: {
    input: usdPerMTok(card.input),
    output: usdPerMTok(card.output),
    ...(card.uses.size === 0 ? {} : { uses: { web_search_requests: USD_A_SEARCH } }),
  },
  betas: ['shipped', ...(card.hasLongWindow ? [{ name: LONG_WINDOW_BETA, context_window: LONG_WINDOW }] : [])],
  upstreams: [{ provider: card.isCancelled ? PROVIDERS.cancelled : PROVIDERS.drained, model: id }],
});

/** What a configuration says of them, whatever else it says of each. */
export const crashProviders = (baseUrl: string, apiKeyEnv: string, more: object = {}): object => ({
  [PROVIDERS.drained]: { protocol: 'messages', baseUrl, apiKeyEnv, ...more },
  [PROVIDERS.cancelled]: { protocol: 'messages', baseUrl, apiKeyEnv, onClientDisconnect: 'cancel', ...more },
});

/** Pico-USD per token are micro-USD per million tokens: six decimals of a USD. */
const usdPerMTok = (rate: bigint): string => `${rate / 1_000_000n}.${(rate % 1_000_000n).toString().padStart(6, '0')}`;
