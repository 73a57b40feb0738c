import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where `npm run kafka` puts Apache Kafka; it is no dependency. */
export const KAFKA = fileURLToPath(new URL('../../.kafka', import.meta.url));

/** What is fetched. */
export const POM = fileURLToPath(new URL('pom.xml', import.meta.url));

/** Written last, with what was fetched: what is there without it was fetched in part, or is of another version. */
export const FETCHED = join(KAFKA, 'fetched');

/** The folder of its jars; null where it was not fetched. */
export function fetchedKafka(): string | null {
  return existsSync(FETCHED) && readFileSync(FETCHED, 'utf8') === readFileSync(POM, 'utf8') ? join(KAFKA, 'lib') : null;
}
