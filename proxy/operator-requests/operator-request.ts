import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { text } from '../../contracts/bounded-length.ts';
import { accountIdField } from '../../contracts/event-fields.ts';
import { shortageOf } from '../../contracts/shortage.ts';
import { replaceFile } from '../../ledger/replace-file.ts';

/** What a command asks of the gateway that has its data folder. */
const askedSchema = z.discriminatedUnion('type', [
  /** To go over to other views of the folder, which the command has looked at. */
  z.strictObject({ type: z.literal('switch-views'), to: z.enum(['rebuild', 'previous']) }),
  z.strictObject({ type: z.literal('park'), accountId: accountIdField, reason: text }),
  z.strictObject({ type: z.literal('unpark'), accountId: accountIdField }),
]);
export type Asked = z.infer<typeof askedSchema>;

const requestSchema = z.strictObject({
  id: text,
  /** In ms since 1970: nobody waits for an answer after it. */
  untilMs: z.int(),
  asked: askedSchema,
});
export type OperatorRequest = z.infer<typeof requestSchema>;

/** Why it was not done; null where it was. And where the disk has no room for it that, which no program of before says. */
const answerSchema = z.strictObject({ id: text, refused: text.nullable(), shortage: z.literal('disk').optional() });
export type OperatorAnswer = z.infer<typeof answerSchema>;

/**
 * Where a request stands, and its answer: in the data folder, which its owner alone can write to, under names that nobody else's have. So
 * whoever takes one away takes that one, whatever has come beside it since it was looked at. A program of before has one name for all,
 * without an id in it; what that asks for is read, too.
 */
export interface RequestFiles {
  readonly request: string;
  readonly answer: string;
}

const REQUEST = /^operator-request(|-[\w-]+)\.json$/;

export const requestFiles = (dataFolder: string, id: string): RequestFiles => filesOf(dataFolder, `-${id}`);

const filesOf = (dataFolder: string, suffix: string): RequestFiles => ({
  request: join(dataFolder, `operator-request${suffix}.json`),
  answer: join(dataFolder, `operator-answer${suffix}.json`),
});

/** Those that stand there, by their names. @throws Error of the file system */
export const requestsIn = (dataFolder: string): RequestFiles[] =>
  readdirSync(dataFolder)
    .sort()
    .flatMap((name) => {
      const suffix = REQUEST.exec(name)?.[1];
      return suffix === undefined ? [] : [filesOf(dataFolder, suffix)];
    });

export const isThere = ({ request }: RequestFiles): boolean => existsSync(request);

/** Null where there is none. @throws Error where it is not of its form */
export const readRequest = ({ request }: RequestFiles): OperatorRequest | null => readJson(request, requestSchema);

/** Null where there is none. @throws Error where it is not of its form */
export const readAnswer = ({ answer }: RequestFiles): OperatorAnswer | null => readJson(answer, answerSchema);

/** Whole or not at all. @throws Error of the file system */
export const writeRequest = (files: RequestFiles, request: OperatorRequest): void =>
  replaceFile(files.request, `${JSON.stringify(request)}\n`, OWNERS_ALONE);

/** The answer is there before its request goes, or comes in the place of it. @throws Error of the file system */
export function writeAnswer(files: RequestFiles, answer: OperatorAnswer): void {
  const json = `${JSON.stringify(answer)}\n`;
  try {
    replaceFile(files.answer, json, OWNERS_ALONE);
  } catch (error) {
    if (shortageOf(error) !== 'disk') throw error;
    // A full disk has the room still that the request has.
    writeOver(files.request, json);
    renameSync(files.request, files.answer);
  }
  removeRequest(files);
}

/** Gives nothing back before it is taken: cut first, its block would be anybody's. */
function writeOver(path: string, text: string): void {
  const file = openSync(path, 'r+');
  try {
    ftruncateSync(file, writeSync(file, text, 0));
  } finally {
    closeSync(file);
  }
}

export const removeRequest = ({ request }: RequestFiles): void => rmSync(request, { force: true });

/** By whoever has asked, who needs neither any more. */
export function removeBoth(files: RequestFiles): void {
  removeRequest(files);
  rmSync(files.answer, { force: true });
}

/** Far longer than anybody waits for an answer. */
const LEFT_MS = 3_600_000;
const LEAVABLE = /^operator-(request|answer)/;

/** What programs that were killed have left: answers that nobody has read, requests that were not whole. @throws Error of the file system */
export function removeLeft(dataFolder: string, nowMs: number): void {
  for (const name of readdirSync(dataFolder)) {
    if (!LEAVABLE.test(name) || REQUEST.test(name)) continue;
    const path = join(dataFolder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && nowMs - found.mtimeMs > LEFT_MS) rmSync(path, { force: true });
  }
}

const OWNERS_ALONE = 0o600;

function readJson<T>(path: string, schema: z.ZodType<T>): T | null {
  let json: string;
  try {
    json = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  return schema.parse(JSON.parse(json));
}
