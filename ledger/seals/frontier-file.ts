import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { EVENT_SCHEMAS } from '../../contracts/events.ts';
import { position, revision } from '../../contracts/ids.ts';
import { giveToFolderOwner } from '../folder-owner.ts';
import { digestOfHex, hexOf } from './merkle.ts';
import type { SealedFrontier } from './sealed-sequence.ts';

/**
 * A short way for the next start, which otherwise reads the log from its beginning. Nothing is lost without it, and what is
 * in it is believed only where the log has its seal, at its place, its hashes have that seal's root, and the events that end
 * at its position are those of the seal's range.
 */
const FILE = 'seal-frontier.json';

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const schema = z.strictObject({
  revision: z.int().min(0).transform(revision),
  sealPosition: z.int().min(0).transform(position),
  hash,
  after: z.int().min(0).transform(position).nullable(),
  position: z.int().min(0).transform(position),
  peaks: z.array(hash.transform(digestOfHex)),
  keys: z.array(EVENT_SCHEMAS.SealKeyIntroduced),
});

/** Null where there is none that can be read. */
export function readFrontier(dataFolder: string): SealedFrontier | null {
  try {
    return schema.parse(JSON.parse(readFileSync(join(dataFolder, FILE), 'utf8')));
  } catch {
    // As though there were none: the way is longer then.
    return null;
  }
}

/** One call at a time. Not made durable: what a crash leaves of it is read as none. @throws Error of the file system */
export async function writeFrontier(dataFolder: string, frontier: SealedFrontier): Promise<void> {
  const path = join(dataFolder, FILE);
  const beside = `${path}.new`;
  await writeFile(beside, JSON.stringify({ ...frontier, peaks: frontier.peaks.map(hexOf) }), { mode: 0o600 });
  giveToFolderOwner(beside);
  await rename(beside, path);
}
