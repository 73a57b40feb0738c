/** Whoever listens is told; where nobody does the process ends: to have silently stopped following is worse. */
export function tellStopped(error: Error, onStopped: ((error: Error) => void) | undefined): void {
  if (onStopped !== undefined) onStopped(error);
  else
    queueMicrotask(() => {
      throw error;
    });
}
