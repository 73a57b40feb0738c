import { isObject } from './seen-usage.ts';
import { LIGHTEST_UNIT, millitokensOf } from './text-tokens.ts';

/**
 * What a value from JSON is worth, written as JSON without spaces. Of a sum the order does not matter: what holds
 * further values waits in a list, so that no depth of theirs is a depth of calls. Providers' answers have no bound of it.
 *
 * @param most where the sum may end: what is beyond is not weighed
 */
export function millitokensOfJson(value: unknown, most = Number.POSITIVE_INFINITY): number {
  const waiting: unknown[] = [];
  let sum = 0;
  const weigh = (inner: unknown): void => {
    if (Array.isArray(inner) || isObject(inner)) waiting.push(inner);
    else sum += millitokensOf(JSON.stringify(cut(inner)));
  };
  const cut = (leaf: unknown): unknown => {
    const unitsMax = Math.ceil(Math.max(0, most - sum) / LIGHTEST_UNIT);
    return typeof leaf === 'string' && leaf.length > unitsMax ? leaf.slice(0, unitsMax) : leaf;
  };
  weigh(value);
  for (let next = waiting.pop(); next !== undefined && sum < most; next = waiting.pop()) {
    let commas = -1;
    if (Array.isArray(next)) {
      sum += BRACKETS;
      for (const inner of next) weigh(inner);
      commas += next.length;
    } else if (isObject(next)) {
      sum += BRACES;
      for (const [name, inner] of Object.entries(next)) {
        sum += millitokensOf(JSON.stringify(cut(name))) + COLON;
        weigh(inner);
        commas++;
      }
    }
    sum += Math.max(0, commas) * COMMA;
  }
  return sum;
}

const BRACKETS = millitokensOf('[]');
const BRACES = millitokensOf('{}');
const COLON = millitokensOf(':');
const COMMA = millitokensOf(',');
