import type { RecordedEvent } from '../../contracts/event-log.ts';
import { type Digest, LEAF_PREFIX, sha256 } from './merkle.ts';

/** Of a stored event what is sealed: not its position, so that a copy into another log keeps its seals. */
export type SealedFields = Pick<RecordedEvent, 'stream' | 'revision' | 'id' | 'type' | 'data' | 'metadata'>;

/** Leaf hashes of stored events. Its buffer is its own, and grows with the longest event. */
export class LeafHasher {
  #bytes: Buffer = Buffer.alloc(16_384);

  /**
   * SHA-256 of 0x00 and, for each of ordinal, stream, revision, id, type, data and metadata as UTF-8 (numbers in decimal),
   * its length as four bytes, the highest first, and its bytes. @param ordinal in the sealed sequence, from 0
   */
  hash(event: SealedFields, ordinal: number): Digest {
    this.#makeRoom(event);
    this.#bytes[0] = LEAF_PREFIX;
    let end = this.#putDecimal(1, ordinal);
    end = this.#put(end, event.stream);
    end = this.#putDecimal(end, event.revision);
    end = this.#put(end, event.id);
    end = this.#put(end, event.type);
    end = this.#put(end, event.data);
    end = this.#put(end, event.metadata);
    return sha256(this.#bytes.subarray(0, end));
  }

  #put(at: number, text: string): number {
    return this.#putLength(at, this.#bytes.write(text, at + LENGTH_BYTES));
  }

  /** Digit by digit: a text of it would be one more to be thrown away. */
  #putDecimal(at: number, value: number): number {
    let length = 1;
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) length++;
    let rest = value;
    for (let digit = at + LENGTH_BYTES + length - 1; digit >= at + LENGTH_BYTES; digit--) {
      this.#bytes[digit] = DIGIT_ZERO + (rest % 10);
      rest = Math.floor(rest / 10);
    }
    return this.#putLength(at, length);
  }

  #putLength(at: number, length: number): number {
    this.#bytes.writeUInt32BE(length, at);
    return at + LENGTH_BYTES + length;
  }

  #makeRoom({ stream, id, type, data, metadata }: SealedFields): void {
    const chars = stream.length + id.length + type.length + data.length + metadata.length;
    const room = chars * UTF8_BYTES_PER_CHAR_MAX + OTHER_BYTES_MAX;
    if (room > this.#bytes.length) this.#bytes = Buffer.alloc(room * 2);
  }
}

const LENGTH_BYTES = 4;
const DIGIT_ZERO = 0x30;
const UTF8_BYTES_PER_CHAR_MAX = 3;
/** The prefix, seven lengths, and two numbers. */
const OTHER_BYTES_MAX = 1 + 7 * LENGTH_BYTES + 2 * 20;
