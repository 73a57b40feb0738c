import { z } from 'zod';
import { text } from '../../contracts/bounded-length.ts';
import { type Refusal, refusal } from '../../contracts/errors.ts';
import { describeFault, fieldFaults } from '../../contracts/field-faults.ts';

/** The provider's bound. Without `limit` a list comes whole, for most callers never turn a page. */
const PAGE_MAX = 1_000;

const pageQuerySchema = z.object({
  limit: z.coerce.number().int().min(1).max(PAGE_MAX).optional(),
  after_id: text.optional(),
  before_id: text.optional(),
});
type PageQuery = z.infer<typeof pageQuerySchema>;

/** The part of a list that SDKs ask for with `limit`, `after_id` and `before_id`. */
interface Page<T> {
  readonly entries: readonly T[];
  /** There are more in the direction that was asked for: after the page, or before it where `before_id` was given. */
  readonly hasMore: boolean;
}

/** Reads a page's parameters; what else is asked for beside them is none of its business. */
export function pageQuery(query: unknown): PageQuery | Refusal {
  const { data, error } = pageQuerySchema.safeParse(query, { reportInput: true });
  if (error !== undefined) return refusal('invalid_request', fieldFaults(error).map(describeFault).join('; '));
  if (data.after_id !== undefined && data.before_id !== undefined)
    return refusal('invalid_request', 'before_id: expected only one of after_id and before_id');
  return data;
}

/** `entries` in their order. An id that is not in it is a fault: to begin anew would page for ever. */
export function pageOf<T extends { readonly id: string }>(entries: readonly T[], query: PageQuery): Page<T> | Refusal {
  const { limit = entries.length, after_id: after, before_id: before } = query;
  const edge = after ?? before;
  const at = entries.findIndex(({ id }) => id === edge);
  if (edge !== undefined && at === -1)
    return refusal(
      'invalid_request',
      `${after === undefined ? 'before_id' : 'after_id'}: nothing in the list has this id`,
    );
  if (before !== undefined) {
    const from = Math.max(0, at - limit);
    return { entries: entries.slice(from, at), hasMore: from > 0 };
  }
  const to = at + 1 + limit;
  return { entries: entries.slice(at + 1, to), hasMore: to < entries.length };
}
