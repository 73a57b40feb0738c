import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { balanceField, microUsdField } from '../contracts/event-fields.ts';
import type { ClosedStatement } from '../ledger/account/billing-state.ts';
import { firstEndOf, someEndBy } from '../ledger/account/grants.ts';
import { balancePages } from './known-views.ts';
import { isBehind } from './unclosed-accounts.ts';

/** Of an account as any version of the balance view has it, up to where its statements are. */
const statedSchema = z.looseObject({
  balance: balanceField.optional(),
  grants: z.array(z.looseObject({ remaining: microUsdField, expiresAtMs: z.number().nullable() })).default([]),
  spend: z.looseObject({ months: z.record(z.string(), z.unknown()) }).optional(),
  billing: z
    .looseObject({
      statement: z
        .looseObject({ month: z.string(), closing: balanceField, firstRevision: z.int(), lastRevision: z.int() })
        .nullish(),
    })
    .optional(),
});

export interface UnstatedAccount {
  readonly accountId: string;
  /** The statement that was closed last; null where none was. */
  readonly last: ClosedStatement | null;
  /** When the first of the credits that are left end; null where none ever do. */
  readonly endMs: number | null;
}

/**
 * The accounts in a views' file of which something came behind the last statement, or whose credits have ended by then, and that have none of a month or a later one: whether
 * one is due, their streams tell. @throws Error where it cannot be read as views
 */
export async function* unstatedAccountsIn(path: string, month: string): AsyncGenerator<UnstatedAccount> {
  for (const page of balancePages(path)) {
    for (const { accountId, state, revision } of page) {
      if ((MONTH.exec(state)?.[1] ?? '') >= month) continue;
      const { balance, billing, grants, spend } = statedSchema.parse(JSON.parse(state));
      const last = billing?.statement ?? null;
      if (last !== null && last.month >= month) continue;
      const months = Object.keys(spend?.months ?? {});
      if (last === null || someEndBy(grants, month) || isBehind(last, { balance, revision, months }))
        yield { accountId, last, endMs: firstEndOf(grants) };
    }
    await nextTurn();
  }
}

/** Most accounts are told apart by it, and not read. */
const MONTH = /"statement":\{"month":"(\d{4}-\d{2})"/;
