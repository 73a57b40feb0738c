import { z } from 'zod';
import { isLikeSecret, isPlainName } from './secret-like.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const NONE_OF_THAT_NAME =
  'no environment variable has the name that stands there; a secret itself does not belong there';

/** In capitals: what is written otherwise may be the secret itself. */
const isNamedAsVariable = (name: string): boolean => /^[A-Z0-9_]+$/.test(name);

/** Names a variable whose value is a secret: no file has it. A backup tells the name, also where nobody looks for the variable. */
export const environmentVariable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable')
  .refine((name) => isNamedAsVariable(name) || !isLikeSecret(name), NONE_OF_THAT_NAME);

/** The name, where nobody has looked for the variable; in words where it may be the secret. */
export const toldVariable = (name: string): string =>
  isNamedAsVariable(name) || isPlainName(name) ? name : 'the variable that is named there';

/** That there is none of a name, which is told where it is written as variables' names are. */
export const variableNotSet = (name: string): string =>
  isNamedAsVariable(name) ? `the environment variable ${name} is not set` : NONE_OF_THAT_NAME;
