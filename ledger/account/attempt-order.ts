/** Of an attempt as an account has it, or its views of any version. */
interface Begun {
  readonly attemptId: string;
  readonly kind: string;
  readonly startedAtMs: number;
  readonly period?: { readonly startMs: number } | null | undefined;
}

/**
 * In the order in which they were begun. Those of one period have the log's: each takes its number behind those that stand there already,
 * whatever the clock of its writer says, which may be seconds behind that of the one before. What has no such number stands where its clock says.
 */
export function inOrder<A extends Begun>(attempts: Iterable<A>): A[] {
  const latestMs = new Map<number, number>();
  const begun = [...attempts].sort(byNumber).map((attempt) => {
    const { kind, period, startedAtMs } = attempt;
    if (kind !== 'renewal' || period == null) return { attempt, atMs: startedAtMs };
    const atMs = Math.max(startedAtMs, latestMs.get(period.startMs) ?? startedAtMs);
    latestMs.set(period.startMs, atMs);
    return { attempt, atMs };
  });
  return begun.sort((one, other) => one.atMs - other.atMs).map(({ attempt }) => attempt);
}

/** As text the tenth stands before the second: the longer of two ids that differ by their numbers alone has the greater one. */
const byNumber = ({ attemptId: one }: Begun, { attemptId: other }: Begun): number =>
  one.length - other.length || (one < other ? -1 : Number(one > other));
