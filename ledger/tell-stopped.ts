/**
 * What follows the log or its feed has stopped for good: whoever listens is told. Where nobody does the process ends: one
 * that has silently stopped following is worse than one that is gone.
 */
export function tellStopped(error: Error, onStopped: ((error: Error) => void) | undefined): void {
  if (onStopped !== undefined) onStopped(error);
  else
    queueMicrotask(() => {
      throw error;
    });
}
