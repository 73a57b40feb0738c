/** The calendar month (UTC) that an instant belongs to, as "2026-11". With `monthOfInstant` the only such function of the project. */
export function monthOf(atMs: number): string {
  const date = new Date(atMs);
  return `${String(date.getUTCFullYear()).padStart(4, '0')}-${String(date.getUTCMonth() + 1).padStart(2, '0')}`;
}

/** The same of an event's instant (`instantField`), which is UTC to its last letter. */
export const monthOfInstant = (instant: string): string => instant.slice(0, 7);

/** The first instant that is after the month. */
export function endOfMonthMs(month: string): number {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return Date.UTC(year, number);
}

export const monthAfter = (month: string): string => monthOf(endOfMonthMs(month));

/** The newest month that was over at an instant. */
export const lastMonthOver = (atMs: number): string => {
  const date = new Date(atMs);
  return monthOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1));
};
