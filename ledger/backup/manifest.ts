import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ledgerIdField } from '../../contracts/event-fields.ts';
import { MANIFEST_FILE } from '../ledger-file.ts';
import { replaceFile } from '../replace-file.ts';
import { BackupFault } from './backup-fault.ts';

const hex = z.string().regex(/^[0-9a-f]{64}$/);
/** Of a file in the backup, from its top; nothing leads out of it. */
const filePath = z.string().regex(/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)?$/);
const count = z.int().min(0);

const ledgerSchema = z.strictObject({
  ledgerId: ledgerIdField.nullable(),
  generation: count,
  /** The last event; null where there is none. */
  head: z.strictObject({ position: count, stream: z.string(), revision: count, id: z.string() }).nullable(),
  /** The newest seal, by which what is restored can be compared with one that was kept elsewhere. */
  seal: z.strictObject({ seal: count, treeSize: count, treeRoot: z.string(), sha256: hex }).nullable(),
});
export type BackedUpLedger = z.infer<typeof ledgerSchema>;

const manifestSchema = z.strictObject({
  form: z.literal(1),
  program: z.string(),
  node: z.string(),
  /** As of this instant: what ended later may be in it, or not. */
  begunAt: z.iso.datetime(),
  endedAt: z.iso.datetime(),
  eventLog: z.enum(['sqlite', 'eventstoredb']),
  /** As an operator knows it. */
  where: z.string(),
  ledger: ledgerSchema,
  /** Requests in the journal that the ledger may not have yet. */
  requests: count,
  files: z.array(z.strictObject({ path: filePath, bytes: count, sha256: hex })),
  /** Secrets that are needed beside it, by their names. */
  keys: z.array(z.strictObject({ use: z.string(), name: z.string() })),
  /** What else of the data folder is not in it, and why. */
  leftOut: z.array(z.strictObject({ name: z.string(), why: z.string() })),
  /** In what is being restored: what else it was made of, as a command line names it. */
  restoredWith: z.array(z.string()).optional(),
});
export type BackupManifest = z.infer<typeof manifestSchema>;
export type BackedUpFile = BackupManifest['files'][number];

/** @throws BackupFault where it is none; Error of the file system */
export function readManifest(folder: string): BackupManifest {
  const path = join(folder, MANIFEST_FILE);
  const text = readFileSync(path, 'utf8');
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new BackupFault(`${path} is no manifest that this program reads: ${why}`, { cause });
  }
}

export const writeManifest = (folder: string, manifest: BackupManifest): void =>
  replaceFile(join(folder, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`);
