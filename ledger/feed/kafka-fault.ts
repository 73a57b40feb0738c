import { FEED_LIMITS } from './limits.ts';

/** What is the matter with Kafka, as far as what the driver throws tells. */

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

/** The partition's leader is gone, though the cluster answers: another one is being chosen. */
const GONE = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EHOSTUNREACH']);

/** How long at the most to wait after a failed try: where another leader is being chosen it is there soon. */
export function pauseMsMaxAfter(error: unknown): number {
  const isChoosing =
    passesSoon(error) || causes(error).some((cause) => 'code' in cause && GONE.has(String(cause.code)));
  return isChoosing ? FEED_LIMITS.backOffChoosingMs : FEED_LIMITS.backOff.maxMs;
}

/** What an operator has to look at, by Kafka's names for faults and by what the driver says. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/^GROUP_AUTHORIZATION_FAILED$/, 'a reader needs the right Read on its group'],
  [
    /^TOPIC_AUTHORIZATION_FAILED$/,
    'a reader needs the right Read on the topic, the relay Write, and Create where there is none',
  ],
  [/^CLUSTER_AUTHORIZATION_FAILED$/, 'to make the topic the relay needs the right Create, or somebody makes it'],
  [
    /^SASL OAUTHBEARER failed/,
    'kafka.sasl: the broker does not take the token, for its issuer, its audience or its time',
  ],
  [
    /^SASL_AUTHENTICATION_FAILED$|SASL .*failed/,
    'kafka.sasl: the user or the password is wrong, or the mechanism is another one',
  ],
  [
    /SASL .* mechanism is not supported|^UNSUPPORTED_SASL_MECHANISM$/,
    'kafka.sasl.mechanism is not one of the listener',
  ],
  [/^ILLEGAL_SASL_STATE$/, 'the listener takes no credentials; kafka.sasl is set'],
  [/^INVALID_REPLICATION_FACTOR$/, 'kafka.replicationFactor is more than there are brokers'],
  [
    /tls alert .*(certificate|unknown ca|handshake)/i,
    'the listener wants a client certificate of an authority that it believes (kafka.ssl.certificateFile, keyFile)',
  ],
  [
    /certificate/i,
    'the authority of the brokers’ certificate is not known here (kafka.ssl.caFile), or it is of another host',
  ],
  [/^Closed connection$/, 'the listener may expect credentials (kafka.sasl), or TLS (kafka.ssl)'],
];

/** Says what is the matter: the innermost causes, not what was tried, and what to look at. */
export function reasonOf(error: unknown): string {
  const all = causes(error);
  const innermost = all.filter((cause) => causes(cause).length === 1);
  const said = new Set(
    innermost.map(({ message }) => message.replace(/^Failed to connect: "config\.brokers" threw: /, '')),
  );
  if (said.size === 0) return String(error);
  const words = [...all.map(({ message }) => message), ...faultTypes(error)];
  const hints = HINTS.filter(([pattern]) => words.some((word) => pattern.test(word))).map(([, hint]) => hint);
  return [...said, ...hints.slice(0, 1)].join('; ');
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
