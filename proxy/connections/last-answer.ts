interface Answer {
  shouldKeepAlive: boolean;
  /** Node's own mark of the last answer on a connection: it closes it behind that, and gives it to no other. */
  _last?: boolean;
}

/** Closes an answer's connection behind it, also where its head has been written already. */
export function makeLast(answer: Answer): void {
  answer.shouldKeepAlive = false;
  answer._last = true;
}
