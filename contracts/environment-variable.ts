import { z } from 'zod';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Names a variable whose value is a secret: no file has it. */
export const environmentVariable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable');
