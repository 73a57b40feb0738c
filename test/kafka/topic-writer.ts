import kafkajs, { type Producer } from 'kafkajs';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { type FeedMessage, feedMessage } from '../../contracts/feed-message.ts';
import { accountId, accountStream, commandId, ledgerId, position, revision } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { kafkaClient } from '../../ledger/feed/kafka-client.ts';

/** Messages that are written to a topic by hand. */
export class TopicWriter {
  readonly #topic: string;
  readonly #producer: Producer;

  constructor(brokers: readonly string[], topic: string) {
    this.#topic = topic;
    const kafka = { brokers: [...brokers], topic, ssl: false, sasl: null };
    this.#producer = kafkaClient({ kafka, clientId: 'test-writer' }).producer({
      createPartitioner: () => byLastDigit,
    });
  }

  write(...messages: readonly WrittenMessage[]): Promise<void> {
    return this.#send(messages, COMPRESSION.None);
  }

  /** As they stand in a topic whose brokers once compressed with lz4: nobody of ours reads them. */
  writeLz4(...messages: readonly WrittenMessage[]): Promise<void> {
    kafkajs.CompressionCodecs[COMPRESSION.LZ4] = () => ({
      compress: async ({ buffer }: { readonly buffer: Buffer }) => lz4Frame(buffer),
    });
    return this.#send(messages, COMPRESSION.LZ4);
  }

  async #send(messages: readonly WrittenMessage[], compression: kafkajs.CompressionTypes): Promise<void> {
    await this.#producer.connect();
    await this.#producer.send({
      topic: this.#topic,
      compression,
      messages: messages.map((message) => ({ ...message, headers: { ...message.headers } })),
    });
  }

  async close(): Promise<void> {
    await this.#producer.disconnect();
  }
}

type WrittenMessage = Pick<FeedMessage, 'key' | 'value' | 'headers'>;

const COMPRESSION = kafkajs.CompressionTypes;

/** One block, as it is: https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md */
function lz4Frame(buffer: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE((UNCOMPRESSED | buffer.length) >>> 0);
  return Buffer.concat([LZ4_HEADER, size, buffer, Buffer.alloc(4)]);
}

/** Its magic number, version 1, blocks of up to 64 KiB, a checksum of these. */
const LZ4_HEADER = Buffer.from('04224d18604082', 'hex');
const UNCOMPRESSED = 0x80000000;

/** acct_0, acct_1, … are in the partitions 0, 1, …; what ends otherwise in any of four. */
const byLastDigit = ({ message }: { message: { key?: Buffer | string | null } }): number => {
  const last = String(message.key).slice(-1);
  return /\d/.test(last) ? Number(last) : last.charCodeAt(0) % 4;
};

/** The ledger of messages that are written by hand. */
export const WRITTEN_OF: LedgerIdentity = {
  ledgerId: ledgerId('ledger_019a5b3c00007000800000000000000a'),
  generation: 1,
};

/** An event of an account as a message. @param of whose it is; null for one from before messages said it */
export function planMessage(account: string, at: number, of: LedgerIdentity | null = WRITTEN_OF): FeedMessage {
  const [event] = encodeEvents([{ type: 'PlanChanged', data: { plan: `plan ${at}`, terms: null } }], {
    commandId: commandId(`01890a5d-ac96-774b-bcce-${at.toString(16).padStart(12, '0')}`),
    actor: 'operator',
    recordedAt: '2026-11-21T10:00:00.000Z',
  });
  if (event === undefined) throw new TypeError('no event');
  const recorded = {
    ...event,
    stream: accountStream(accountId(account)),
    revision: revision(at),
    position: position(1_000 + at),
  };
  const message = feedMessage(recorded, { source: '/test', relayEpoch: 1, ledger: of ?? WRITTEN_OF });
  return of === null ? withoutLedger(message) : message;
}

export function withoutLedger({ key, value, headers }: FeedMessage): FeedMessage {
  const { ce_ledger: _, ...before } = headers;
  return { key, value, headers: before as FeedMessage['headers'] };
}
