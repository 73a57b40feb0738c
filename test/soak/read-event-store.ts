import { BACKWARDS, END, EventStoreDBClient, FORWARDS, type ReadPosition, START } from '@eventstore/db-client';
import type { LoggedEvent, LoggedStream } from './logged-stream.ts';

/** Reads what a run has written to a server that is there already, by the server's own client and with nothing of ours. */
export class EventStoreReading {
  readonly #client: EventStoreDBClient;
  readonly #prefix: string;
  readonly #from: ReadPosition;

  private constructor(client: EventStoreDBClient, prefix: string, from: ReadPosition) {
    this.#client = client;
    this.#prefix = prefix;
    this.#from = from;
  }

  /** Before the run writes: what the server has so far is others'. */
  static async begin(connectionString: string, streamPrefix: string): Promise<EventStoreReading> {
    const client = EventStoreDBClient.connectionString(connectionString);
    let from: ReadPosition = START;
    for await (const { event } of client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }))
      if (event !== undefined) from = event.position;
    return new EventStoreReading(client, streamPrefix, from);
  }

  /** Stream by stream, by their names without the prefix. */
  async streams(): Promise<LoggedStream[]> {
    const streams = new Map<string, LoggedEvent[]>();
    const all = this.#client.readAll({ direction: FORWARDS, fromPosition: this.#from });
    for await (const { event } of all) {
      if (event === undefined || !event.streamId.startsWith(this.#prefix)) continue;
      const stream = event.streamId.slice(this.#prefix.length);
      const own = streams.get(stream) ?? [];
      streams.set(stream, own);
      own.push({
        revision: Number(event.revision),
        position: Number(event.position.commit),
        createdMs: event.created.getTime(),
        id: event.id,
        type: event.type,
        data: jsonOf(event.data),
        metadata: jsonOf(event.metadata) as { recordedAt: string },
      });
    }
    return [...streams].map(([stream, events]) => ({ stream, events }));
  }

  async close(): Promise<void> {
    await this.#client.dispose();
  }
}

/** Whoever appends says whether it is JSON; ours is either way. */
const jsonOf = (data: unknown): unknown =>
  data instanceof Uint8Array ? JSON.parse(Buffer.from(data).toString('utf8')) : data;
