import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../ledger/replace-file.ts';
import { UnreadableFileError } from '../../ledger/unreadable-file.ts';
import { wantOfRightsOf } from '../../ledger/want-of-rights.ts';
import { type KnownLockouts, readLockouts, VIEWS_FILE } from '../known-views.ts';
import { readFileSetAside, viewsSetAside } from './views-set-aside.ts';

/** The file in a data folder that outlives its views: who was refused in any generation of its ledger. */
const LOCKOUTS_FILE = 'refused.json';

const inForce = z.strictObject({ generation: z.int().min(1), revision: z.int().min(0) });

const lockoutSchema = z.strictObject({
  accountId: z.string(),
  /** For good: there is no event that takes a revocation back. */
  revokedKeys: z.array(z.string()),
  suspended: z
    .strictObject({
      reason: z.string(),
      /** The generation, and the account's revision in it, that has the suspension; null where the newest one lacks the account. */
      inForce: inForce.nullable(),
      /** Where that is null: the last that had it, where it is known. */
      wasInForce: inForce.optional(),
    })
    .nullable(),
  /** Absent where there are none: their secrets of before the newest are not to work again. */
  rotatedKeys: z.array(z.strictObject({ keyId: z.string(), sha256: z.string(), inForce })).optional(),
});
/** An account that is suspended, or keys of it that are revoked, in whatever generation that was last so. */
export type KeptLockout = Readonly<z.infer<typeof lockoutSchema>>;

const fileSchema = z.strictObject({ refused: z.array(lockoutSchema) });

/**
 * Who a data folder knows as refused: of all earlier generations, and of the views that are in it now. A ledger that has
 * lost an account may be followed by one that has it again, with keys that were revoked in between.
 * @throws UnreadableFileError; Error when the newest views are no database
 */
export function readKeptLockouts(dataFolder: string): readonly KeptLockout[] {
  const kept = readFile(dataFolder) ?? lockoutsSetAside(dataFolder);
  return withViews(kept, readLockouts(join(dataFolder, VIEWS_FILE)));
}

/** Who is refused as any of several data folders knows. @param dataFolders the newest first, whose suspensions count @throws as `readKeptLockouts` */
export function mergeKeptLockouts(dataFolders: readonly string[]): readonly KeptLockout[] {
  const merged = new Map<string, KeptLockout>();
  for (const { accountId, revokedKeys, suspended, rotatedKeys = [] } of dataFolders.flatMap(readKeptLockouts)) {
    const before = merged.get(accountId);
    const keys = [...new Set([...(before?.revokedKeys ?? []), ...revokedKeys])];
    const rotated = rotatedOf([...rotatedKeys, ...(before?.rotatedKeys ?? [])], keys);
    merged.set(accountId, { accountId, revokedKeys: keys, suspended: before?.suspended ?? suspended, ...rotated });
  }
  return [...merged.values()];
}

/** On disk when it returns, whole or not at all. Grows as fast as people refuse, and has no other bound. */
export const writeKeptLockouts = (dataFolder: string, refused: readonly KeptLockout[]): void =>
  replaceFile(join(dataFolder, LOCKOUTS_FILE), `${JSON.stringify({ refused })}\n`);

function readFile(dataFolder: string): readonly KeptLockout[] | null {
  const file = join(dataFolder, LOCKOUTS_FILE);
  if (!existsSync(file)) return null;
  try {
    return fileSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).refused;
  } catch (cause) {
    const lacking = wantOfRightsOf(cause);
    if (lacking !== null) throw new UnreadableFileError(lacking, { cause });
    throw new UnreadableFileError(`${file} does not say whose keys and accounts stay refused; put it back`, { cause });
  }
}

/** A folder that went over to a generation before there was the file has them in its views of then, if anywhere. */
const lockoutsSetAside = (dataFolder: string): readonly KeptLockout[] =>
  viewsSetAside(dataFolder).reduce<readonly KeptLockout[]>(
    (kept, { file }) => withViews(kept, readFileSetAside(file, 'who was refused', readLockouts)),
    [],
  );

function withViews(kept: readonly KeptLockout[], views: KnownLockouts | null): readonly KeptLockout[] {
  if (views === null) return kept;
  const merged = new Map(kept.map((refusal) => [refusal.accountId, refusal]));
  const { generation } = views;
  for (const { accountId, revision, suspended, revokedKeys, rotatedKeys } of views.accounts) {
    const before = merged.get(accountId);
    const keys = [...new Set([...(before?.revokedKeys ?? []), ...revokedKeys])];
    const at = { generation, revision };
    const suspension =
      suspended !== null ? { reason: suspended, inForce: at } : unlessLifted(before?.suspended ?? null, at);
    const inViews = rotatedKeys.map((key) => ({ ...key, inForce: at }));
    const rotated = rotatedOf([...(before?.rotatedKeys ?? []), ...inViews], keys);
    if (keys.length > 0 || suspension !== null || rotated.rotatedKeys !== undefined)
      merged.set(accountId, { accountId, revokedKeys: keys, suspended: suspension, ...rotated });
    else merged.delete(accountId);
  }
  return [...merged.values()];
}

/** Of a key the last one counts; one that is revoked has no secret that works. */
function rotatedOf(
  all: NonNullable<KeptLockout['rotatedKeys']>,
  revoked: readonly string[],
): Pick<KeptLockout, 'rotatedKeys'> {
  const newest = new Map(all.map((key) => [key.keyId, key]));
  const rotatedKeys = [...newest.values()].filter(({ keyId }) => !revoked.includes(keyId));
  return rotatedKeys.length === 0 ? {} : { rotatedKeys };
}

type Suspension = KeptLockout['suspended'];
type InForce = NonNullable<NonNullable<Suspension>['inForce']>;

/** Views without a suspension tell that it was lifted only where they are of after it. */
function unlessLifted(suspended: Suspension, views: InForce): Suspension {
  const since = suspended?.inForce ?? null;
  if (since === null) return suspended;
  const isAfter =
    views.generation > since.generation || (views.generation === since.generation && views.revision >= since.revision);
  return isAfter ? null : suspended;
}
