import { z } from 'zod';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Names a variable whose value is a secret: no file has it. */
export const environmentVariable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable');

/** That there is none of a name, which is told where it is written as variables' names are: else it may be the secret itself. */
export const variableNotSet = (name: string): string =>
  /^[A-Z0-9_]+$/.test(name)
    ? `the environment variable ${name} is not set`
    : 'no environment variable has the name that stands there; a secret itself does not belong there';
