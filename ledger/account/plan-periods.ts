export interface Period {
  readonly startMs: number;
  /** Exclusive: the next one's start. */
  readonly endMs: number;
}

export const DAY_MS = 24 * 3_600_000;

/** The period that an instant is in, of those that begin with the anchor, which is no later. With the auditor's own the only such function. */
export function periodAt(anchorMs: number, atMs: number): Period {
  const [anchor, at] = [new Date(anchorMs), new Date(atMs)];
  const months = (at.getUTCFullYear() - anchor.getUTCFullYear()) * 12 + at.getUTCMonth() - anchor.getUTCMonth();
  const begun = startOf(anchor, months) <= atMs ? months : months - 1;
  return { startMs: startOf(anchor, begun), endMs: startOf(anchor, begun + 1) };
}

/** So many months after the anchor, at its time of day, on its day or the last that the month has. */
function startOf(anchor: Date, months: number): number {
  const [year, month] = [anchor.getUTCFullYear(), anchor.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const midnight = new Date(anchor).setUTCHours(0, 0, 0, 0);
  return Date.UTC(year, month, Math.min(anchor.getUTCDate(), lastDay)) + (anchor.getTime() - midnight);
}
