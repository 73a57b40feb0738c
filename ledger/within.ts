/** What a promise gives in time, or null; a later failure is nobody's. It goes on: whoever can end it does. */
export async function within<Value>(timeMs: number, promise: Promise<Value>): Promise<Value | null> {
  const { promise: timeUp, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, timeMs, null);
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
