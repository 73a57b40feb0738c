import type { RecoveredRequest } from './journal.ts';

/** Where the journal of a folder keeps the requests of accounts that are set aside: beside it, and only once there are any. */
export const asideFolder = (directory: string): string => `${directory}-aside`;

/** Those of both folders, each once: a crash may leave in both what was on its way, and aside only its start. */
export function withKeptAside(
  main: readonly RecoveredRequest[],
  aside: readonly RecoveredRequest[],
): readonly RecoveredRequest[] {
  const left = new Map(main.map((request) => [request.requestId, request]));
  const kept = aside.map((request) => {
    const inMain = left.get(request.requestId);
    left.delete(request.requestId);
    return request.finished === null && inMain !== undefined ? inMain : request;
  });
  return [...kept, ...left.values()];
}
