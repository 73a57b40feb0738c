/** The calendar month (UTC) that an instant belongs to, as "2026-11". The only such function of the project. */
export function monthOf(atMs: number): string {
  const date = new Date(atMs);
  return `${String(date.getUTCFullYear()).padStart(4, '0')}-${String(date.getUTCMonth() + 1).padStart(2, '0')}`;
}
