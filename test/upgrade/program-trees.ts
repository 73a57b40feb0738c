import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAM_FOLDERS, programOfCommit, withPackages } from '../fixtures/processes/program-of-commit.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The last state of this project whose programs know nothing of forms: their claims name none. */
export const OLD_COMMIT = '3e6e76607dfcbbb98435b47c40d505d9342191dd';

/** A program of this project as a folder of its own, that shares the packages of this one. */
export interface ProgramTree {
  readonly name: string;
  /** Its `proxy/main.ts`. */
  readonly main: string;
}

/** The program of an older commit. Null where the history of this clone does not have it. */
export function oldTree(folder: string): ProgramTree | null {
  const main = programOfCommit(OLD_COMMIT, folder);
  return main === null ? null : { name: 'old', main };
}

/** The program of today. */
export const todaysTree = (): ProgramTree => ({ name: 'today', main: join(ROOT, 'proxy/main.mjs') });

/** The program of today, and one form more: a field of CreditsDebited. */
export function newTree(folder: string): ProgramTree {
  for (const part of PROGRAM_FOLDERS) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  for (const { file, from, to } of ONE_FORM_MORE) {
    const path = join(folder, file);
    const parts = readFileSync(path, 'utf8').split(from);
    if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times, not once, ${JSON.stringify(from)}`);
    writeFileSync(path, parts.join(to));
  }
  return { name: 'new', main: withPackages(folder) };
}

const ONE_FORM_MORE: readonly { readonly file: string; readonly from: string; readonly to: string }[] = [
  {
    file: 'contracts/usage-events.ts',
    from: '    leftOut: microUsdField,\n    lines,\n    uses,\n    grants: debit.grants,',
    to: '    leftOut: microUsdField,\n    note: text.nullable(),\n    lines,\n    uses,\n    grants: debit.grants,',
  },
  {
    file: 'contracts/event-upcasters.ts',
    from: "  CreditsDebited: [(data) => ({ ...data, leftOut: '0', uses: [] })],",
    to: `  CreditsDebited: [
    (data) => ({ ...data, leftOut: '0', uses: [] }),
    { up: (data) => ({ ...data, note: null }), down: ({ note, ...data }) => (note === null ? data : null) },
  ],`,
  },
  {
    file: 'ledger/account/record-usage.ts',
    from: '    leftOut,\n    lines: rated.lines,',
    to: '    leftOut,\n    note: null,\n    lines: rated.lines,',
  },
];
