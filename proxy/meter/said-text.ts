import { isObject, type JsonObject } from '../../contracts/json-object.ts';
import { millitokensOfJson } from '../tokens/json-tokens.ts';
import { millitokensOf } from '../tokens/text-tokens.ts';

/** What a content block says by itself: text, thinking and the input of a tool. An input that is to come is empty. */
export function millitokensOfBlock({ text, thinking, input }: JsonObject): number {
  let sum = 0;
  for (const said of [text, thinking]) if (typeof said === 'string') sum += millitokensOf(said);
  if (isObject(input) && Object.keys(input).length > 0) sum += millitokensOfJson(input);
  return sum;
}

/** What an event of a stream says: of a delta, or of a block that begins with what it has. */
export function millitokensOfEvent({ delta, content_block: block }: JsonObject): number {
  let sum = isObject(block) ? millitokensOfBlock(block) : 0;
  if (isObject(delta))
    for (const said of [delta.text, delta.thinking, delta.partial_json])
      if (typeof said === 'string') sum += millitokensOf(said);
  return sum;
}
