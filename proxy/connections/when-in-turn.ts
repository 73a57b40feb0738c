import type { ServerResponse } from 'node:http';

interface Turn {
  readonly inTurn: () => void;
  /** Its connection was closed before. */
  readonly left: () => void;
}

/** Of an answer that waits for those before it on its connection: one of the two, once. */
export function whenInTurn(waiting: ServerResponse, { inTurn, left }: Turn): void {
  waiting.once('close', left);
  waiting.once('socket', () => {
    waiting.off('close', left);
    inTurn();
  });
}
