/**
 * What a promise gives within a time; null when the time is up first, after which its failure is nobody's. Rejects as it
 * does. What it stands for goes on: whoever can end it does.
 */
export async function within<Value>(timeMs: number, promise: Promise<Value>): Promise<Value | null> {
  const { promise: timeUp, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, timeMs, null);
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
