import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { text } from '../../contracts/bounded-length.ts';
import { accountIdField } from '../../contracts/event-fields.ts';
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

/** Why it was not done; null where it was. */
const answerSchema = z.strictObject({ id: text, refused: text.nullable() });
export type OperatorAnswer = z.infer<typeof answerSchema>;

/** Both in the data folder, which its owner alone can write to. A request stands there until it is answered. */
export const requestFile = (dataFolder: string): string => join(dataFolder, 'operator-request.json');
const answerFile = (dataFolder: string): string => join(dataFolder, 'operator-answer.json');

/** Null where there is none. @throws Error where it is not of its form */
export const readRequest = (dataFolder: string): OperatorRequest | null =>
  readJson(requestFile(dataFolder), requestSchema);

export const readAnswer = (dataFolder: string): OperatorAnswer | null => readJson(answerFile(dataFolder), answerSchema);

/** The answer is there before its request goes. */
export function writeAnswer(dataFolder: string, answer: OperatorAnswer): void {
  replaceFile(answerFile(dataFolder), `${JSON.stringify(answer)}\n`, OWNERS_ALONE);
  removeRequest(dataFolder, answer.id);
}

/** One request, which may have gone; another may stand in its place by then, and stays. @throws as `readRequest` */
export function removeRequest(dataFolder: string, id: string): void {
  if (readRequest(dataFolder)?.id === id) rmSync(requestFile(dataFolder), { force: true });
}

export const removeAnswer = (dataFolder: string): void => rmSync(answerFile(dataFolder), { force: true });

const OWNERS_ALONE = 0o600;

function readJson<T>(path: string, schema: z.ZodType<T>): T | null {
  if (!existsSync(path)) return null;
  return schema.parse(JSON.parse(readFileSync(path, 'utf8')));
}
