import { z } from 'zod';

/** A text that the operating system is given, such as a path: it takes none in which a NUL stands. */
export const systemText = z
  .string()
  .min(1)
  .refine((text) => !text.includes('\0'), 'holds a NUL character, which no path or argument can have');
