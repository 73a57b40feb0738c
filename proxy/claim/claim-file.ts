import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { boundedList, text } from '../../contracts/bounded-length.ts';
import { proxyIdField } from '../../contracts/event-fields.ts';
import { replaceFile } from '../../ledger/replace-file.ts';
import { wantOfRightsOf } from '../../ledger/want-of-rights.ts';

const FILE = 'proxy-claims.json';

const keptClaim = z.strictObject({
  proxy: proxyIdField,
  epoch: z.int().min(1),
  /** Random, made for this claim: by it a folder knows its own claim in the log again. */
  instance: text,
  /** The processes of all claims from this epoch on have run in this very folder. */
  ownsFrom: z.int().min(0),
  /** Which folder it was (folder-identity.ts). */
  folder: text,
  /** When the name was taken over from a process that may still be alive; null where none can be. */
  takenOverAtMs: z.int().nullable().default(null),
  /** Whether the process has ended in order, so that this folder, wherever it is copied to, has all that it had under way. */
  hasEnded: z.boolean().default(false),
});
export type KeptClaim = z.infer<typeof keptClaim>;

const file = z.strictObject({ claims: boundedList(keptClaim, { max: 2 }) });

/** The last claim that the log took, and one that it may have taken. @throws Error for anything else */
export function readKeptClaims(dataFolder: string): readonly KeptClaim[] {
  const path = join(dataFolder, FILE);
  try {
    return file.parse(JSON.parse(readFileSync(path, 'utf8'))).claims;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    const lacking = wantOfRightsOf(error);
    if (lacking !== null) throw new Error(lacking, { cause: error });
    throw new Error(`${path} holds no claims; delete it and the file proxy-id, and this proxy gets a new name`, {
      cause: error,
    });
  }
}

/** On disk when it returns, whole or not at all. */
export const keepClaims = (dataFolder: string, claims: readonly KeptClaim[]): void =>
  replaceFile(join(dataFolder, FILE), `${JSON.stringify({ claims })}\n`);
