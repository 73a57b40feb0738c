import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { DEFAULT_PRODUCT } from '../contracts/event-fields.ts';
import { balancePages } from './known-views.ts';

/** Of an account as any version of the balance view has it, its product: those of before there were any are of one. */
const ofProductSchema = z.looseObject({
  organization: z.looseObject({ product: z.string() }).default({ product: DEFAULT_PRODUCT }),
});

/** The product of each account in a views' file, with turns of the event loop between. @throws Error where it cannot be read as views */
export async function* productsIn(path: string): AsyncGenerator<string> {
  for (const page of balancePages(path)) {
    for (const { state } of page) yield ofProductSchema.parse(JSON.parse(state)).organization.product;
    await nextTurn();
  }
}
