/** A fault that does not end by itself: what the gateway cannot do, and why. */
export class UnusableError extends Error {
  override readonly name = 'UnusableError';
  /** What could not be done, without the why, which is for operators alone. */
  readonly what: string;

  constructor(what: string, cause: unknown) {
    super(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.what = what;
  }
}
