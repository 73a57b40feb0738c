import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import { type Refusal, refusal } from '../contracts/errors.ts';
import { describeFault, fieldFaults } from '../contracts/field-faults.ts';
import { LIMITS } from '../contracts/limits.ts';
import {
  type CountTokensRequest,
  countTokensRequestSchema,
  FAULTS_SHOWN,
  type MessageRequest,
  messageRequestSchema,
} from '../contracts/messages.ts';
import { keepDroppedFields } from './request-body/dropped-fields.ts';
import { type DuplicateKey, findDuplicateKey } from './request-body/duplicate-keys.ts';
import { exceededBound, type ShapeBounds } from './request-body/json-scan.ts';

export interface ValidRequest<T> {
  readonly type: 'valid';
  /** What was parsed, for looking at; what is forwarded are the bytes. */
  readonly request: T;
  readonly body: Buffer;
}

export const validateMessageRequest = (
  body: unknown,
  headers: IncomingHttpHeaders,
): ValidRequest<MessageRequest> | Refusal => validate(messageRequestSchema, body, headers);

export const validateCountTokens = (
  body: unknown,
  headers: IncomingHttpHeaders,
): ValidRequest<CountTokensRequest> | Refusal => validate(countTokensRequestSchema, body, headers);

/** Whether the fast lane is asked for, by the body or by `x-svc-speed` (specification, MessageRequest). */
export function asksForFast(request: MessageRequest, headers: IncomingHttpHeaders): boolean | Refusal {
  const header = headers['x-svc-speed'];
  if (header !== undefined && header !== 'fast' && header !== 'standard')
    return refusal('invalid_request', 'x-svc-speed: expected one of "standard", "fast"');
  return header === 'fast' || request.speed === 'fast';
}

function validate<T>(schema: z.ZodType<T>, body: unknown, headers: IncomingHttpHeaders): ValidRequest<T> | Refusal {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== '' && encoding !== 'identity')
    return invalid(`content-encoding: ${JSON.stringify(encoding)} is not supported; send the body as it is`);
  if (!Buffer.isBuffer(body) || body.length === 0) return invalid('the body is empty; expected a JSON object');
  if (!isUtf8(body)) return invalid('the body is not UTF-8');
  const exceeded = exceededBound(body, SHAPE_BOUNDS);
  if (exceeded !== null) return invalid(EXCEEDED[exceeded]);
  const value = parseJson(body);
  if (value === undefined) return invalid('the body is not JSON');
  const result = schema.safeParse(value, { reportInput: true });
  if (!result.success) return invalid(firstFaults(result.error));
  const duplicate = findDuplicateKey(body);
  if (duplicate !== null) return invalid(saidTwice(duplicate));
  keepDroppedFields(value, result.data);
  return { type: 'valid', request: result.data, body };
}

const saidTwice = ({ key, within }: DuplicateKey): string =>
  within === null
    ? `${key}: stands twice in the body; say it once`
    : `${within}: "${key}" stands twice in one object of it; say it once`;

const SHAPE_BOUNDS: ShapeBounds = { depthMax: LIMITS.requestDepthMax, valuesMax: LIMITS.requestValuesMax };
const EXCEEDED: Readonly<Record<keyof ShapeBounds, string>> = {
  depthMax: `the body is nested deeper than ${LIMITS.requestDepthMax} levels`,
  valuesMax: `the body has more than ${LIMITS.requestValuesMax} values`,
};

const invalid = (message: string): Refusal => refusal('invalid_request', message);

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    // The parser's message quotes the input, which may hold secrets; that it is not JSON is all there is to say.
    return undefined;
  }
}

/** Lists are not looked through to their end where so many were found (contracts/messages.ts). */
function firstFaults(error: z.ZodError): string {
  const faults = fieldFaults(error);
  const more = faults.length > FAULTS_SHOWN ? '; and more' : '';
  return faults.slice(0, FAULTS_SHOWN).map(describeFault).join('; ') + more;
}
