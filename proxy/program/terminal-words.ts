import { isatty } from 'node:tty';
import { destinationAt, endLast } from './destination-at.ts';

/** What a program that stays up says to people on a terminal, and waits for none that is held; null where the descriptor is of no terminal. */
export function terminalWords(fd: number): ((text: string) => void) | null {
  if (!isatty(fd)) return null;
  const destination = destinationAt(fd, { lostLines: (lines) => `gateway: words that nobody took: ${lines}\n` });
  endLast(destination);
  return (text) => destination.write(text);
}
