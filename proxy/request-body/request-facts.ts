import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { type Refusal, refusal } from '../../contracts/errors.ts';
import { describeFault, fieldFaults } from '../../contracts/field-faults.ts';
import { isObject, jsonOf } from '../../contracts/json-object.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { countTokensRequestSchema, FAULTS_SHOWN, messageRequestSchema } from '../../contracts/messages.ts';
import { isPlainConversation, isPlainRequest } from '../../contracts/messages-by-hand.ts';
import { type DuplicateKey, readTopLevel } from './duplicate-keys.ts';
import { type InputWeight, weighInput } from './input-weight.ts';
import { exceededBound, type ShapeBounds } from './json-scan.ts';
import { type RequestSize, requestSize } from './request-size.ts';
import type { TopLevel } from './top-level.ts';

/** What the gateway has to know of a request to count its tokens: all that it keeps of it beside its bytes. */
export interface CountFacts {
  readonly type: 'facts';
  readonly model: string;
  /** The first message of role `system`; null where there is none. */
  readonly systemRoleAt: number | null;
  /** Where the members stand that may be changed on the way upstream. */
  readonly topLevel: TopLevel;
}

/** What the gateway has to know of a message request, from its admission to its end. Small, however long the request is. */
export interface MessageFacts extends CountFacts {
  readonly maxTokens: number;
  readonly isStream: boolean;
  /** Null where the body does not say it. */
  readonly speed: 'standard' | 'fast' | null;
  /** Whether the body has a `speed`, be it null. */
  readonly hasSpeed: boolean;
  readonly wantsThread: boolean;
  readonly size: RequestSize;
  /** What its text is worth, where it is too much to be weighed later; null where it is not. */
  readonly inputWeight: InputWeight | null;
}

/** What is read of a body, by what it is for. */
export interface FactsByKind {
  readonly message: MessageFacts;
  readonly count: CountFacts;
}
export type FactsKind = keyof FactsByKind;

/**
 * Parses a body, checks it against the schema and computes what is needed of it, or says what is wrong with it. Pure, and
 * the same whether it runs at once or in another thread (read-facts.ts).
 *
 * @param windowMax tokens of the widest context window that it may be for: no more of its text is weighed; null where it
 *   is read at once and none is
 */
export function factsOf<K extends FactsKind>(kind: K, body: Buffer, windowMax: number | null): FactsByKind[K] | Refusal;
export function factsOf(kind: FactsKind, body: Buffer, windowMax: number | null): FactsByKind[FactsKind] | Refusal {
  return kind === 'message' ? messageFacts(body, windowMax) : countFacts(body);
}

function messageFacts(body: Buffer, windowMax: number | null): MessageFacts | Refusal {
  const read = readBody(messageRequestSchema, isPlainRequest, body);
  if (read.type === 'refusal') return read;
  const { request, topLevel } = read;
  return {
    ...factsInCommon(request, topLevel),
    maxTokens: request.max_tokens,
    isStream: request.stream === true,
    speed: request.speed ?? null,
    hasSpeed: Object.hasOwn(request, 'speed'),
    wantsThread: request.thread !== null && request.thread !== undefined,
    size: requestSize(request, body),
    inputWeight: windowMax !== null && isObject(request) ? weighInput(request, windowMax) : null,
  };
}

function countFacts(body: Buffer): CountFacts | Refusal {
  const read = readBody(countTokensRequestSchema, isPlainConversation, body);
  return read.type === 'refusal' ? read : factsInCommon(read.request, read.topLevel);
}

function factsInCommon(
  { model, messages }: { readonly model: string; readonly messages: readonly { readonly role: string }[] },
  topLevel: TopLevel,
): CountFacts {
  const at = messages.findIndex(({ role }) => role === 'system');
  return { type: 'facts', model: model.slice(0, MODEL_CHARS_MAX), systemRoleAt: at === -1 ? null : at, topLevel };
}

/** More than any name in a catalog has (contracts/catalog.ts): what is cut here names no model. */
const MODEL_CHARS_MAX = 256;

interface Read<T> {
  readonly type: 'read';
  readonly request: T;
  readonly topLevel: TopLevel;
}

/**
 * What is read is the body's own value, not what the schema copies of it: zod copies no `__proto__`, but the client's bytes go
 * upstream with it, so it counts like any field that nobody knows.
 *
 * @param isPlain true only for what the schema takes (contracts/messages-by-hand.ts); of all else it is asked
 */
function readBody<T>(schema: z.ZodType<T>, isPlain: (value: unknown) => boolean, body: Buffer): Read<T> | Refusal {
  if (!isUtf8(body)) return invalid('the body is not UTF-8');
  const exceeded = exceededBound(body, SHAPE_BOUNDS);
  if (exceeded !== null) return invalid(EXCEEDED[exceeded]);
  const value = jsonOf(body.toString('utf8'));
  if (value === undefined) return invalid('the body is not JSON');
  const { error } = isPlain(value) ? PLAIN : schema.safeParse(value, { reportInput: true });
  if (error !== undefined) return invalid(firstFaults(error));
  const topLevel = readTopLevel(body);
  if (!('members' in topLevel)) return invalid(saidTwice(topLevel));
  return { type: 'read', request: value as T, topLevel };
}

const PLAIN = { error: undefined };

const saidTwice = ({ key, within }: DuplicateKey): string =>
  within === null
    ? `${key}: stands twice in the body; say it once`
    : `${within}: "${key}" stands twice in one object of it; say it once`;

const SHAPE_BOUNDS: ShapeBounds = { depthMax: LIMITS.requestDepthMax, valuesMax: LIMITS.requestValuesMax };
const EXCEEDED: Readonly<Record<keyof ShapeBounds, string>> = {
  depthMax: `the body is nested deeper than ${LIMITS.requestDepthMax} levels; send it flatter`,
  valuesMax: `the body has more than ${LIMITS.requestValuesMax} values (elements and keys); send fewer in one request`,
};

const invalid = (message: string): Refusal => refusal('invalid_request', message);

/** Lists are not looked through to their end where so many were found (contracts/messages.ts). */
function firstFaults(error: z.ZodError): string {
  const faults = fieldFaults(error);
  const more = faults.length > FAULTS_SHOWN ? '; and more' : '';
  return faults.slice(0, FAULTS_SHOWN).map(describeFault).join('; ') + more;
}
