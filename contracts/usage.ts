/** The token classes of the Messages protocol; disjoint, in the order in which they are listed everywhere. */
export const TOKEN_CLASSES = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const;
export type TokenClass = (typeof TOKEN_CLASSES)[number];

/** Tokens by class, whole numbers of at least 0. `input` excludes every cache token. */
export type TokenCounts = { readonly [C in TokenClass]: number };

export const NO_TOKENS: TokenCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };

/** The lane that a request ran in, as the upstream's answer says (`service_tier`), never as it was asked for. */
export type Lane = 'standard' | 'fast';
