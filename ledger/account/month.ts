/** The calendar month (UTC) that an instant belongs to, as "2026-11". The only such function of the project. */
export function monthOf(atMs: number): string {
  const date = new Date(atMs);
  return `${String(date.getUTCFullYear()).padStart(4, '0')}-${String(date.getUTCMonth() + 1).padStart(2, '0')}`;
}

/** The first instant of the month after the one that `atMs` belongs to. */
export function nextMonthStartMs(atMs: number): number {
  const date = new Date(atMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
