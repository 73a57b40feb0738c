import { z } from 'zod';
import { CONTROL } from './printable.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Names a variable whose value is a secret: no file has it. */
export const environmentVariable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable');

/** What no header can carry, and what a file or a copy has added at an end. */
const NOT_IN_A_SECRET = new RegExp(`^\\s|${CONTROL.source}|\\s$`, 'u');

/** The variable's value, empty where there is none. @param path of the field that names it @param faults gets what is amiss */
export function fromEnvironment(name: string, path: string, environment: Environment, faults: string[]): string {
  const value = environment[name] ?? '';
  if (value === '') faults.push(`${path}: the environment variable ${name} is not set`);
  const amiss = NOT_IN_A_SECRET.exec(value);
  // What it holds is a secret: what is amiss and where is all that is told.
  if (amiss !== null) {
    const what = /[\r\n]/.test(amiss[0]) ? 'a line end' : 'a blank or a control character';
    const where = `at character ${amiss.index + 1} of ${value.length}`;
    faults.push(`${path}: the environment variable ${name} holds ${what} ${where}; take it out`);
  }
  return value;
}
