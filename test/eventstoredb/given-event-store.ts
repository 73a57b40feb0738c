import { randomBytes } from 'node:crypto';

/** A server that is there already, and whose it is: others' streams may be on it. */
export interface GivenEventStore {
  readonly connectionString: string;
  /** Of this run's streams alone, so that runs do not meet. */
  readonly streamPrefix: string;
}

/** What `EVENTSTOREDB_URL` names; null where nothing is named. The one place that reads it. */
export function givenEventStore(environment: NodeJS.ProcessEnv = process.env): GivenEventStore | null {
  const connectionString = (environment.EVENTSTOREDB_URL ?? '').trim();
  if (connectionString === '') return null;
  return { connectionString, streamPrefix: `run${randomBytes(8).toString('hex')}-` };
}
