import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { ReadableLog } from '../../contracts/event-log.ts';
import { EVENT_SCHEMAS } from '../../contracts/events.ts';
import { position, revision, SEALS_STREAM } from '../../contracts/ids.ts';
import { giveToFolderOwner } from '../folder-owner.ts';
import { digestOfHex, hexOf, sha256 } from './merkle.ts';
import type { LedgerSealed } from './seal-signature.ts';
import { readSealEvent, type SealedFrontier } from './sealed-sequence.ts';

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

interface KeptFrontier {
  readonly frontier: SealedFrontier;
  /** Its own. */
  readonly seal: LedgerSealed;
}

/** Null where there is none that can be read, or the log has not its seal at its place. @throws EventLogError, UnreadableEventError */
export async function keptFrontier(log: ReadableLog, dataFolder: string): Promise<KeptFrontier | null> {
  const frontier = readFrontier(dataFolder);
  if (frontier === null) return null;
  for await (const recorded of log.readStream(SEALS_STREAM, { from: frontier.revision, limit: 1 })) {
    if (recorded.position !== frontier.sealPosition || hexOf(sha256(recorded.data)) !== frontier.hash) return null;
    const { type, data: seal } = readSealEvent(recorded);
    if (type === 'LedgerSealed') return { frontier, seal };
  }
  return null;
}

function readFrontier(dataFolder: string): SealedFrontier | null {
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
