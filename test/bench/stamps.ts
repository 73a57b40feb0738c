const MARK = 'sent ';
const DIGITS = 15;
const MARK_BYTES = Buffer.from(MARK);

/** Microseconds of a clock that all processes of the machine share, and that never goes back. */
export function machineUs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000_000 + Math.floor(nanoseconds / 1000);
}

/** What an event carries to say when it was sent. */
export const stampText = (us: number): string => MARK + String(us).padStart(DIGITS, '0');

/** When the events in these bytes were sent; one that the transport has cut in two is not among them. */
export function stampsIn(bytes: Buffer): number[] {
  const stamps: number[] = [];
  for (let at = bytes.indexOf(MARK_BYTES); at >= 0; at = bytes.indexOf(MARK_BYTES, at + MARK.length)) {
    const digits = bytes.toString('latin1', at + MARK.length, at + MARK.length + DIGITS);
    if (digits.length === DIGITS) stamps.push(Number(digits));
  }
  return stamps;
}
