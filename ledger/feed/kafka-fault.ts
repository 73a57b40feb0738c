/** What the driver throws, as far as it can be told from outside what is the matter with Kafka. */

/** A cluster that is busy with itself: leaders change, a topic or the groups' own topic is being made. */
const PASSING = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'REPLICA_NOT_AVAILABLE',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'NOT_CONTROLLER',
  'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'GROUP_LOAD_IN_PROGRESS',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR_FOR_GROUP',
]);

/** Whether a broker has answered with a fault that passes by itself, soon. */
export function passesSoon(error: unknown): boolean {
  return faultTypes(error).some((type) => PASSING.has(type));
}

/** Kafka's names for the faults that an error and its causes carry, the outermost first. */
export function faultTypes(error: unknown): string[] {
  const types: string[] = [];
  for (const cause of causes(error)) if ('type' in cause && typeof cause.type === 'string') types.push(cause.type);
  return types;
}

const CAUSES_MAX = 20;

/** An error, what it was made of, and the causes of that. */
export function causes(error: unknown): Error[] {
  const found: Error[] = [];
  const open: unknown[] = [error];
  while (open.length > 0 && found.length < CAUSES_MAX) {
    const next = open.shift();
    if (!(next instanceof Error) || found.includes(next)) continue;
    found.push(next);
    open.push(next.cause);
    if ('errors' in next && Array.isArray(next.errors)) open.push(...next.errors);
  }
  return found;
}
