import type { RecordedEvent } from '../../contracts/event-log.ts';
import { jsonOf } from '../../contracts/json-object.ts';

/**
 * An event as a line of NDJSON from which its stored bytes can be taken out again: data and metadata stand inside as they
 * are stored where that is an object on one line, and as a JSON string of what is stored otherwise: what others have written
 * with a line break between its values, or white space around it, or what is no object, or no JSON.
 */
export const exactEventLine = ({ stream, revision, position, id, type, data, metadata }: RecordedEvent): string =>
  `{"stream":${JSON.stringify(stream)},"revision":${revision},"position":${position},"id":${JSON.stringify(id)},` +
  `"type":${JSON.stringify(type)},"data":${exactJson(data)},"metadata":${exactJson(metadata)}}\n`;

const exactJson = (stored: string): string =>
  stored.startsWith('{') && stored.endsWith('}') && !/[\r\n]/.test(stored) && jsonOf(stored) !== undefined
    ? stored
    : JSON.stringify(stored);
