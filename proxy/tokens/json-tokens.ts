import { isObject } from '../../contracts/json-object.ts';
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
    else sum += millitokensOf(typeof inner === 'string' ? JSON.stringify(cut(inner)) : String(inner));
  };
  const cut = (text: string): string => {
    const unitsMax = Math.ceil(Math.max(0, most - sum) / LIGHTEST_UNIT);
    return text.length > unitsMax ? text.slice(0, unitsMax) : text;
  };
  weigh(value);
  for (let next = waiting.pop(); next !== undefined && sum < most; next = waiting.pop()) {
    let commas = -1;
    if (Array.isArray(next)) {
      sum += BRACKETS;
      for (const inner of next) {
        weigh(inner);
        if (sum >= most) return sum;
      }
      commas += next.length;
    } else if (isObject(next)) {
      sum += BRACES;
      for (const name in next) {
        sum += millitokensOf(JSON.stringify(cut(name))) + COLON;
        weigh(next[name]);
        commas++;
        if (sum >= most) return sum;
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
