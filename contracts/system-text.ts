import { text } from './bounded-length.ts';

/** A text that the operating system is given, such as a path: it takes none in which a NUL stands. */
export const systemText = text.refine(
  (path) => !path.includes('\0'),
  'holds a NUL character, which no path or argument can have',
);
