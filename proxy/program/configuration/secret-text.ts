import { basename } from 'node:path';
import { type Environment, variableNotSet } from '../../../contracts/environment-variable.ts';
import { CONTROL } from '../../../contracts/printable.ts';
import { NO_FILE_OF_THAT_NAME, UNTOLD_FILE } from '../../../contracts/secret-like.ts';
import { textOfFile } from '../../../ledger/named-file.ts';

/** What no header can carry, and what a file or a copy has added at an end. */
const NOT_IN_A_SECRET = new RegExp(`^\\s|${CONTROL.source}|\\s$`, 'u');

/** The variable's value, empty where there is none. @param path of the field that names it @param faults gets what is amiss */
export function fromEnvironment(name: string, path: string, environment: Environment, faults: string[]): string {
  const value = environment[name] ?? '';
  if (value === '') faults.push(`${path}: ${variableNotSet(name)}`);
  checkSecret(value, `${path}: the environment variable ${name}`, faults);
  return value;
}

/** The same of a file that holds a secret and nothing else; one line end at its end is the editor's. */
export function fromSecretFile(file: string, path: string, faults: string[]): string {
  const text = fromFile(file, path, faults);
  if (text === null) return '';
  const value = text.replace(/\r?\n$/, '');
  if (value === '') faults.push(`${path}: ${file} is empty`);
  checkSecret(value, `${path}: ${file}`, faults);
  return value;
}

/** The file's text; null where it cannot be read. */
export function fromFile(file: string, path: string, faults: string[]): string | null {
  try {
    return textOfFile(file);
  } catch (error) {
    faults.push(`${path}: ${whyNotRead(file, error)}`);
    return null;
  }
}

/** What a secret's file is called, or by which setting it is named where its name is not told. */
export const toldFile = (file: string, setting: string): string =>
  isStandIn(file) ? `the file that ${setting} names` : file;

/** That a file cannot be read, with its name, where it has one that is told. */
export const whyNotRead = (file: string, error: unknown): string =>
  isStandIn(file) ? NO_FILE_OF_THAT_NAME : `${file} ${error instanceof Error ? error.message : String(error)}`;

/** Behind a folder, too: what names a file is made a whole path of. */
const isStandIn = (file: string): boolean => basename(file) === UNTOLD_FILE;

function checkSecret(value: string, whose: string, faults: string[]): void {
  const amiss = NOT_IN_A_SECRET.exec(value);
  if (amiss === null) return;
  // What it holds is a secret: what is amiss and where is all that is told.
  const what = /[\r\n]/.test(amiss[0]) ? 'a line end' : 'a blank or a control character';
  faults.push(`${whose} holds ${what} at character ${amiss.index + 1} of ${value.length}; take it out`);
}
