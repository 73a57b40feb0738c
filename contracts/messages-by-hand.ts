import { isObject, type JsonObject } from './json-object.ts';
import { isServerTool } from './messages.ts';

/**
 * Whether a body is one that the schemas (messages.ts) take, looked at by hand: by zod, which copies every message and every
 * block of it, that took an agent's long conversation as long as all else of its admission. The schemas are the rule:
 * what is true here they surely take; where it is false they are asked, and tell what is amiss.
 */
export const isPlainRequest = (of: unknown): boolean =>
  isObject(of) &&
  isConversation(of) &&
  isWhole(of.max_tokens) &&
  isAbsentOr(of.stream, isBoolean) &&
  isAbsentOr(of.temperature, isShare) &&
  isAbsentOr(of.stop_sequences, isListOf(isString)) &&
  isAbsentOr(of.tool_choice, isObject) &&
  isAbsentOr(of.speed, isSpeed) &&
  isAbsentOr(of.metadata, isObject);

/** The same of what is to be counted. */
export const isPlainConversation = (of: unknown): boolean => isObject(of) && isConversation(of);

const isConversation = (of: JsonObject): boolean =>
  isString(of.model) &&
  of.model !== '' &&
  areMessages(of.messages) &&
  isAbsentOr(of.system, isContent) &&
  isAbsentOr(of.tools, areTools);

type Check = (value: unknown) => boolean;

const isAbsentOr = (value: unknown, isOne: Check): boolean => value === undefined || value === null || isOne(value);

const isListOf =
  (isOne: Check): Check =>
  (list) =>
    Array.isArray(list) && list.every(isOne);

const isString = (value: unknown): boolean => typeof value === 'string';
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isShare = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= 1;
const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1;
const isSpeed = (value: unknown): boolean => value === 'standard' || value === 'fast';

const isBlock = (of: unknown): boolean => isObject(of) && isString(of.type);
const areBlocks = isListOf(isBlock);
const isContent = (value: unknown): boolean => isString(value) || areBlocks(value);

const isRole = (value: unknown): boolean => value === 'user' || value === 'assistant' || value === 'system';
const areMessages = isListOf((of) => isObject(of) && isRole(of.role) && isContent(of.content));

const isClientTool = (of: JsonObject): boolean =>
  isAbsentOr(of.type, isString) &&
  isString(of.name) &&
  isAbsentOr(of.description, isString) &&
  isObject(of.input_schema) &&
  isAbsentOr(of.cache_control, isObject);
const areTools = isListOf((of) => isObject(of) && (isServerTool(of) || isClientTool(of)));
