const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Carries out work of which nothing is to stay where a signal ends it in between. The program then ends by that signal, as
 * though nobody had listened for it.
 */
export async function discardedOnSignal<T>(discard: () => void, work: () => Promise<T>): Promise<T> {
  const end = (signal: NodeJS.Signals): void => {
    forget();
    try {
      discard();
    } finally {
      process.kill(process.pid, signal);
    }
  };
  const forget = (): void => {
    for (const signal of SIGNALS) process.removeListener(signal, end);
  };
  for (const signal of SIGNALS) process.once(signal, end);
  try {
    return await work();
  } finally {
    forget();
  }
}
