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
}

export interface CrashCatalog {
  /** The catalog file's content. */
  readonly file: object;
  readonly models: readonly string[];
  readonly prices: ReadonlyMap<string, ModelPrices>;
}

/** Rates that leave a part below one micro-USD in nearly every cost, and whose cache rates are whole. */
const INPUT_STEP = 20n;

/**
 * A catalog of many models at one upstream. Key and model together are used for one request only, so that the ledger's
 * record of it can be told from all others without the upstream's having answered anything.
 */
export function crashCatalog(modelCount: number): CrashCatalog {
  const prices = new Map<string, ModelPrices>();
  const entries: object[] = [];
  for (let index = 0; index < modelCount; index++) {
    const id = `opal-${String(index).padStart(3, '0')}`;
    const input = 3_000_020n + INPUT_STEP * BigInt(index * 7);
    const output = 15_000_007n + BigInt(index * 13);
    const hasFastLane = index % 2 === 1;
    prices.set(id, {
      input,
      output,
      cacheRead: input / 10n,
      cacheWrite5m: (input * 5n) / 4n,
      cacheWrite1h: input * 2n,
      hasFastLane,
      uses: new Map(),
    });
    entries.push(catalogEntry(id, input, output, hasFastLane));
  }
  return { file: { models: entries }, models: [...prices.keys()], prices };
}

const catalogEntry = (id: string, input: bigint, output: bigint, hasFastLane: boolean): object => ({
  id,
  display_name: id,
  family: 'opal',
  label: id,
  group: 'Crash',
  context_window: 200_000,
  caching: 'explicit',
  lanes: hasFastLane ? ['standard', 'fast'] : ['standard'],
  price: { input: usdPerMTok(input), output: usdPerMTok(output) },
  upstreams: [{ provider: 'crash', model: id }],
});

/** Pico-USD per token are micro-USD per million tokens: six decimals of a USD. */
const usdPerMTok = (rate: bigint): string => `${rate / 1_000_000n}.${(rate % 1_000_000n).toString().padStart(6, '0')}`;
