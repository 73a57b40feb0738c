import type { SeededRandom } from '../fixtures/seeded-random.ts';

/** A limit as an operator has set it, and what the command printed. */
export interface LimitSet {
  readonly accountId: string;
  /** Null is the account's. */
  readonly keyId: string | null;
  /** Micro-USD; null is none. */
  readonly limit: bigint | null;
  /** What the command said may still be spent beyond it; null where it could not say. */
  readonly setAside: bigint | null;
}

/** What of `gateway account show --json` an operator goes by. */
interface Shown {
  readonly spend: {
    readonly months: Readonly<
      Record<string, { readonly account: string; readonly keys: Readonly<Record<string, string>> }>
    >;
  };
}

const MICRO_PER_USD = 1_000_000n;
const LIFTS_SHARE = 0.2;
/** Around what was spent: some limits are passed already when they are set. */
const LIMIT_ABOVE = [-20_000, 300_000] as const;
const ENDED_ALREADY = '--expires: must be after the grant begins';

type Command = (...args: readonly string[]) => Promise<string>;

/** Sets an account's monthly limit, or one of its keys', near what was spent of it; or lifts the account's. */
export async function moveLimit(command: Command, accountId: string, random: SeededRandom): Promise<LimitSet> {
  const { keyId, limit } = random.chance(LIFTS_SHARE)
    ? { keyId: null, limit: null }
    : await limitNear(JSON.parse(await command('account', 'show', accountId)) as Shown, random);
  const what = limit === null ? ['--none'] : ['--usd', usdOf(limit)];
  const whose = keyId === null ? [] : ['--key', keyId];
  const printed = JSON.parse(await command('limit', 'set', accountId, ...what, ...whose));
  const setAside = printed.setAsideBeforeMicroUsd === null ? null : BigInt(printed.setAsideBeforeMicroUsd);
  return { accountId, keyId, limit, setAside };
}

function limitNear(shown: Shown, random: SeededRandom): { keyId: string | null; limit: bigint } {
  const month = shown.spend.months[new Date().toISOString().slice(0, 7)];
  const keys = Object.entries(month?.keys ?? {});
  const key = random.chance(0.5) ? keys[random.whole(0, Math.max(0, keys.length - 1))] : undefined;
  const limit = BigInt(key?.[1] ?? month?.account ?? '0') + BigInt(random.whole(...LIMIT_ABOVE));
  return { keyId: key?.[0] ?? null, limit: limit < 1n ? 1n : limit };
}

/** For a grant whose end had come before its command was carried out. @throws whatever else it was */
export function onlyEndedAlready(error: unknown): void {
  if (!(error instanceof Error && error.message.includes(ENDED_ALREADY))) throw error;
}

const usdOf = (microUsd: bigint): string =>
  `${microUsd / MICRO_PER_USD}.${(microUsd % MICRO_PER_USD).toString().padStart(6, '0')}`;
