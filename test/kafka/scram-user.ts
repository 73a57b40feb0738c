import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';

const SCRAM = {
  'scram-sha-256': { number: 1, hash: 'sha256', bytes: 32 },
  'scram-sha-512': { number: 2, hash: 'sha512', bytes: 64 },
} as const;
export type ScramMechanism = keyof typeof SCRAM;

const ALTER_USER_SCRAM_CREDENTIALS = 51;
/** The fewest that a broker takes. */
const ITERATIONS = 4_096;

/**
 * Gives a user a password for one mechanism, as `kafka-configs --alter --add-config` does, without starting Java for it: the
 * driver does not know the request (https://kafka.apache.org/protocol#The_Messages_AlterUserScramCredentials).
 * @throws Error with what the broker says
 */
export async function addScramUser(
  broker: string,
  { name, password }: { readonly name: string; readonly password: string },
  mechanism: ScramMechanism,
): Promise<void> {
  const { number, hash, bytes } = SCRAM[mechanism];
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, bytes, hash);
  const upsertion = [
    compact(Buffer.from(name)),
    int8(number),
    int32(ITERATIONS),
    compact(salt),
    compact(salted),
    NO_TAGS,
  ];
  const header = [int16(ALTER_USER_SCRAM_CREDENTIALS), int16(0), int32(1), int16(-1), NO_TAGS];
  const answer = await ask(broker, Buffer.concat([...header, countOf(0), countOf(1), ...upsertion, NO_TAGS]));
  // Its number, tags, the throttling, how many results, the user's name: then the error.
  const at = 4 + 1 + 4 + 1 + 1 + Buffer.byteLength(name);
  const error = answer.readInt16BE(at);
  if (error !== 0) throw new Error(`${name} got no ${mechanism}: error ${error} ${answer.subarray(at + 3).toString()}`);
}

/** One request on a connection of its own, and what comes for it, without its length. */
async function ask(broker: string, request: Buffer): Promise<Buffer> {
  const [host, port] = broker.split(':');
  const socket = connect({ host: host ?? '', port: Number(port) });
  try {
    await once(socket, 'connect');
    socket.write(Buffer.concat([int32(request.length), request]));
    let read = Buffer.alloc(0);
    for await (const chunk of socket) {
      read = Buffer.concat([read, chunk as Buffer]);
      if (read.length >= 4 && read.length >= 4 + read.readInt32BE(0)) return read.subarray(4);
    }
    throw new Error(`${broker} has closed the connection`);
  } finally {
    socket.destroy();
  }
}

const int8 = (value: number): Buffer => Buffer.from([value]);
const NO_TAGS = int8(0);
/** Of an array, or of bytes: one more than it has. All of ours are below 127. */
const countOf = (count: number): Buffer => int8(count + 1);
const compact = (bytes: Buffer): Buffer => Buffer.concat([countOf(bytes.length), bytes]);

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
