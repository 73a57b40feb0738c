import type { RecordedEvent } from '../../../contracts/event-log.ts';

/** The stored JSON texts stand inside unchanged; what is none, because somebody else has written it, as a string. */
export const storedEventLine = ({ stream, revision, position, id, type, data, metadata }: RecordedEvent): string =>
  `${JSON.stringify({ stream, revision, position, id, type }).slice(0, -1)},` +
  `"data":${jsonTextOf(data)},"metadata":${jsonTextOf(metadata)}}\n`;

function jsonTextOf(stored: string): string {
  try {
    JSON.parse(stored);
  } catch {
    return JSON.stringify(stored);
  }
  // Between its values, for in a string of it there is none.
  return stored.replaceAll(/[\r\n]/g, ' ');
}
