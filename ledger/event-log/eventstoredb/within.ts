/** What the promise gives within a time; null when the time is up first, after which its failure is nobody's. */
export async function within<Value extends object>(timeMs: number, promise: Promise<Value>): Promise<Value | null> {
  const { promise: timeUp, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, timeMs, null);
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
    // It may still fail when nobody waits for it any more.
    promise.catch(() => undefined);
  }
}
