import { z } from 'zod';
import { boundedList, text } from './bounded-length.ts';
import { environmentVariable } from './environment-variable.ts';
import { type KafkaTls, kafkaTlsSchema } from './kafka-tls.ts';
import { isSecretForProgram } from './secret-like.ts';
import { systemText } from './system-text.ts';

/** The program's name is told where it gives no token. */
const NAME_OF_PROGRAM =
  'expected a program and its arguments; what stands first looks like a secret itself, which does not belong there';

const saslSchema = z.discriminatedUnion(
  'mechanism',
  [
    z.strictObject({
      mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']),
      username: text,
      passwordEnv: environmentVariable,
    }),
    z.strictObject({
      mechanism: z.literal('oauthbearer'),
      /** A program, run without a shell, that writes the token to stdout: again before a JWT's end. */
      tokenCommand: boundedList(systemText, { min: 1 })
        .refine(([program = '']) => !isSecretForProgram(program), NAME_OF_PROGRAM)
        .optional(),
      /** A file that holds the token and nothing else, read whenever one is needed; another program keeps it new. */
      tokenFile: systemText.optional(),
    }),
  ],
  { error: 'expected "plain", "scram-sha-256", "scram-sha-512" or "oauthbearer"' },
);

/** What a topic's name looks like; also what may stand in a stream name. */
export const TOPIC_NAME = /^[A-Za-z0-9._-]{1,200}$/;

export const kafkaSchema = z.strictObject({
  brokers: boundedList(z.string().regex(/^[^\s:]+:\d+$/, 'expected host:port'), { min: 1 }),
  /** The topic of the feed; also the name under which the relay keeps its checkpoint. */
  topic: z.string().regex(TOPIC_NAME).default('ledger'),
  /** Of a topic that the relay creates. Fixed for ever: another number would break the order within an account, and asks for a new topic. */
  partitions: z.int().min(1).max(1_000).default(12),
  /** Of a topic that the relay creates; -1 takes the cluster's own default. Without it 3, or as many as there are brokers. */
  replicationFactor: z.int().min(-1).max(10).optional(),
  /** `min.insync.replicas` of a topic that the relay creates. Without it 2, and 1 of two replicas, so that one broker can be away; 2 of them, too, where `doubtfulTopic` is `refuse`. */
  minInsyncReplicas: z.int().min(1).max(10).optional(),
  /** What becomes of a topic that can lose messages: by its retention, with one replica, with min.insync.replicas 1. */
  doubtfulTopic: z.enum(['warn', 'refuse']).default('warn'),
  /** What the relay writes; readers of the feed read each of them, whatever stands here. */
  compression: z.enum(['none', 'gzip', 'zstd']).default('gzip'),
  ssl: kafkaTlsSchema.default(false),
  sasl: saslSchema.optional(),
});

type Parsed = z.infer<typeof kafkaSchema>;

export type KafkaSasl =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
      readonly username: string;
      readonly password: string;
    }
  | { readonly mechanism: 'oauthbearer'; readonly token: TokenSource };

/** Where a token comes from: a program with its arguments, or a file. */
export type TokenSource = { readonly command: readonly string[] } | { readonly file: string };

export interface KafkaConfiguration extends Omit<Parsed, 'sasl' | 'ssl'> {
  readonly ssl: boolean | KafkaTls;
  readonly sasl: KafkaSasl | null;
  /** Why the files and variables that `ssl` and `sasl` name could not be read: nothing is sent to brokers without them. Absent where they were. */
  readonly unread?: readonly string[];
}
