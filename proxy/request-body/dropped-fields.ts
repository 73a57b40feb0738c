import { isObject, type JsonObject } from '../../contracts/json-object.ts';

const DROPPED = '__proto__';

/**
 * Gives back to what the schema made of a body the fields that it leaves out: zod copies no `__proto__`, but the client's
 * bytes go upstream with it, so it counts like any field that nobody knows. Only where zod copies objects of a
 * conversation: the request, its choice of tools, its messages, and their blocks and the system's. Deeper values are those of JSON.parse,
 * which keeps that field like any other.
 *
 * Asks each object for one name, which costs less than to search the bytes for it and for its escapes.
 */
export function keepDroppedFields(value: unknown, parsed: unknown): void {
  if (!isObject(value) || !isObject(parsed)) return;
  keep(value, parsed);
  if (isObject(value.tool_choice) && isObject(parsed.tool_choice)) keep(value.tool_choice, parsed.tool_choice);
  keepInEach(value.system, parsed.system);
  const messages = listOf(parsed.messages);
  for (const [index, message] of listOf(value.messages).entries()) {
    const copy = messages[index];
    if (!isObject(message) || !isObject(copy)) continue;
    keep(message, copy);
    keepInEach(message.content, copy.content);
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function keepInEach(values: unknown, parsed: unknown): void {
  const copies = listOf(parsed);
  for (const [index, value] of listOf(values).entries()) {
    const copy = copies[index];
    if (isObject(value) && isObject(copy)) keep(value, copy);
  }
}

/** Defined, not assigned: an assignment would change the prototype. */
function keep(value: JsonObject, copy: JsonObject): void {
  if (!Object.hasOwn(value, DROPPED) || Object.hasOwn(copy, DROPPED)) return;
  Object.defineProperty(copy, DROPPED, { value: value[DROPPED], enumerable: true, configurable: true, writable: true });
}
