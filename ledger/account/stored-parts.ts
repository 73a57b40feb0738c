import type { z } from 'zod';
import { microUsdField } from '../../contracts/event-fields.ts';
import type { MicroUsd } from '../../contracts/money.ts';
import { textDecoderOf } from '../../contracts/schema-decoder.ts';
import { encoderOf } from '../../contracts/schema-encoder.ts';
import { type ApiKey, apiKeySchema, type OpenAccount } from './account-state.ts';
import { changesOf, type KeyedTree, treeOfSorted } from './keyed-tree.ts';
import { attemptSchema, isOpen, type PaymentAttempt, withEndedAttempts } from './payments-state.ts';
import { sumByMember } from './spend.ts';

/** What of an account there may be any number of, as it was at a moment: its trees stay as they are, whatever is folded. */
export interface KeptParts {
  readonly keys: KeyedTree<ApiKey>;
  readonly keyLimits: KeyedTree<MicroUsd>;
  readonly months: readonly (readonly [month: string, keys: KeyedTree<MicroUsd>])[];
  readonly attempts: KeyedTree<PaymentAttempt>;
}

export const NO_PARTS: KeptParts = { keys: null, keyLimits: null, months: [], attempts: null };

export const partsOf = ({ keys, spend, billing }: OpenAccount): KeptParts => ({
  ...{ keys, keyLimits: spend.keyLimits, attempts: billing.payments.attempts },
  months: Object.entries(spend.months).map(([month, { keys: ofMonth }]) => [month, ofMonth]),
});

/** One kind of them: each is a text of its own under an id, and changes by itself. */
export interface StoredPart {
  readonly name: string;
  /** Of each text, which is JSON. */
  readonly schema: z.ZodType;
  /** Those that one moment has otherwise than the one before: null as text is gone. */
  changes(before: KeptParts, after: KeptParts): Iterable<readonly [id: string, text: string | null]>;
  /** The account with all of them. @throws Error where one is not of its form */
  put(account: OpenAccount, stored: readonly (readonly [id: string, text: string])[]): OpenAccount;
}

interface PartForm<V> {
  readonly name: string;
  readonly schema: z.ZodType<V>;
  /** By what their ids begin with. */
  readonly treesOf: (parts: KeptParts) => Iterable<readonly [prefix: string, tree: KeyedTree<V>]>;
  readonly put: (account: OpenAccount, values: readonly (readonly [id: string, value: V])[]) => OpenAccount;
  /** Absent: all are. */
  readonly isKept?: (value: V) => boolean;
}

function partOf<V>({ name, schema, treesOf, put, isKept = () => true }: PartForm<V>): StoredPart {
  const encode = encoderOf(schema);
  const decode = textDecoderOf(schema);
  return {
    ...{ name, schema },
    *changes(before, after) {
      const had = new Map(treesOf(before));
      for (const [prefix, tree] of treesOf(after))
        for (const { key, was, is } of changesOf(had.get(prefix) ?? null, tree)) {
          if (is !== undefined && isKept(is)) yield [prefix + key, JSON.stringify(encode(is))];
          else if (was !== undefined && isKept(was)) yield [prefix + key, null];
        }
    },
    put: (account, stored) =>
      stored.length === 0
        ? account
        : put(
            account,
            stored.map(([id, text]) => [id, decode(text)]),
          ),
  };
}

const keys = partOf<ApiKey>({
  ...{ name: 'key', schema: apiKeySchema, treesOf: (parts) => [['', parts.keys]] },
  put: (account, values) => ({ ...account, keys: treeOfSorted(values) }),
});

const keyLimits = partOf<MicroUsd>({
  ...{ name: 'key_limit', schema: microUsdField, treesOf: (parts) => [['', parts.keyLimits]] },
  put: (account, values) => ({ ...account, spend: { ...account.spend, keyLimits: treeOfSorted(values) } }),
});

/** What a key has spent in a month, as `<month> <key>`. The keys are there before: whose they are says what members have spent. */
const spentByKeys = partOf<MicroUsd>({
  ...{ name: 'spent', schema: microUsdField },
  treesOf: (parts) => parts.months.map(([month, tree]) => [`${month} `, tree]),
  put: (account, values) => {
    const months = { ...account.spend.months };
    for (const [month, ofMonth] of Map.groupBy(values, ([id]) => id.slice(0, id.indexOf(' ')))) {
      const of = months[month];
      if (of === undefined) throw new Error(`account ${account.accountId} has spent nothing in ${month}`);
      const ofKeys = treeOfSorted(ofMonth.map(([id, amount]) => [id.slice(month.length + 1), amount]));
      months[month] = {
        ...{ ...of, keys: ofKeys },
        members: account.spend.otherLimits === null ? null : sumByMember(account, ofKeys),
      };
    }
    return { ...account, spend: { ...account.spend, months } };
  },
});

/** Those that are open stand with the account, as whoever looks for them reads all accounts. */
const endedAttempts = partOf<PaymentAttempt>({
  ...{ name: 'attempt', schema: attemptSchema, treesOf: (parts) => [['', parts.attempts]] },
  isKept: (attempt) => !isOpen(attempt),
  put: (account, values) => {
    const { billing } = account;
    const attempts = values.map(([, attempt]) => attempt);
    return { ...account, billing: { ...billing, payments: withEndedAttempts(billing.payments, attempts) } };
  },
});

export const STORED_PARTS = { keys, keyLimits, spentByKeys, endedAttempts } as const;

/** A key as it is kept. @throws Error where it is not of that form */
export const keyOfText: (text: string) => ApiKey = textDecoderOf(apiKeySchema);
