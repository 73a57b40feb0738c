import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { accountIdField } from '../contracts/event-fields.ts';
import type { AccountId } from '../contracts/ids.ts';
import { jsonOf } from '../contracts/json-object.ts';
import { replaceFile } from '../ledger/replace-file.ts';
import { UnreadableFileError } from '../ledger/unreadable-file.ts';

const parkedSchema = z.array(z.strictObject({ accountId: accountIdField, reason: z.string() }));

/** An account that an operator has set aside in this data folder, and why. */
export type ParkedAccount = z.infer<typeof parkedSchema>[number];

/** In a file of its own, because views can be made anew, and an operator's word cannot. */
const parkedFile = (dataFolder: string): string => join(dataFolder, 'parked.json');

/** @throws UnreadableFileError where the file is not of its form */
export function readParked(dataFolder: string): ParkedAccount[] {
  const file = parkedFile(dataFolder);
  if (!existsSync(file)) return [];
  const parked = parkedSchema.safeParse(jsonOf(readFileSync(file, 'utf8')));
  if (parked.success) return parked.data;
  throw new UnreadableFileError(
    `${file} does not say which accounts an operator has parked: put back a copy of it, or move it away and park them again`,
  );
}

/** @param reason null is that it is not parked any more. @throws Error of the file system */
export function writeParked(dataFolder: string, accountId: AccountId, reason: string | null): void {
  const others = readParked(dataFolder).filter((one) => one.accountId !== accountId);
  const parked = reason === null ? others : [...others, { accountId, reason }];
  replaceFile(parkedFile(dataFolder), `${JSON.stringify(parked, null, 2)}\n`, 0o600);
}
