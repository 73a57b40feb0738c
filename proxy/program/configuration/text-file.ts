import { readFileSync, statSync } from 'node:fs';

/** More than any certificates, key, passphrase or token. */
const BYTES_MAX = 1024 * 1024;

/** The file's text; null where it cannot be read. @param path of the field that names it @param faults gets why not */
export function textOfFile(file: string, path: string, faults: string[]): string | null {
  try {
    const { size } = statSync(file);
    if (size > BYTES_MAX) {
      faults.push(`${path}: ${file} has ${size} bytes, which is more than what it should hold can have`);
      return null;
    }
    return readFileSync(file, 'utf8');
  } catch (error) {
    faults.push(`${path}: ${file} ${whyNot(error)}`);
    return null;
  }
}

function whyNot(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'does not exist';
    case 'EACCES':
    case 'EPERM':
      return 'may not be read by this user';
    case 'EISDIR':
      return 'is a folder';
    default:
      return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
