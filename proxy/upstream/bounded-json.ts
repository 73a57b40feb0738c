import { jsonOf } from '../../contracts/json-object.ts';
import { exceededBound, type ShapeBounds } from '../request-body/json-scan.ts';
import { closedJson } from './closed-json.ts';
import { READ_DEPTH_MAX, READ_VALUES_MAX } from './limits.ts';

/** What is read of an upstream's answer: the parser takes seconds and a gigabyte for a few MiB of brackets. */
const BOUNDS: ShapeBounds = { depthMax: READ_DEPTH_MAX, valuesMax: READ_VALUES_MAX };

/** The value of a JSON text; undefined where it is none, or has more in it than is read. */
export const parseJson = (text: string): unknown => (exceedsBounds(text) ? undefined : jsonOf(text));

/** The value of what a JSON text begins with, as far as it is there and as it is read. */
export const parseBeginning = (text: string): unknown => jsonOf(beginningOf(text));

/** What `parseBeginning` parses of a text. */
export const beginningOf = (text: string): string => closedJson(text, BOUNDS);

/** A text with fewer characters than values may be is parsed as it is, however deep. */
export const exceedsBounds = (text: string): boolean =>
  text.length > READ_VALUES_MAX && exceededBound(Buffer.from(text), BOUNDS) !== null;
