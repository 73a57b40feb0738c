const NOTHING = Buffer.alloc(0);

/**
 * The bytes of an answer's pieces one behind the other, as one. They are copied, into twice the room each time: a piece of a
 * byte takes some hundred by itself, and keeps all that was read with it. Only what came in one piece is that piece.
 */
export class JoinedBytes {
  /** Where it is somebody else's piece it is full: nothing is written into it. */
  #room: Buffer = NOTHING;
  #length = 0;

  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) this.#room = piece;
    else {
      this.#reserve(length);
      piece.copy(this.#room, this.#length);
    }
    this.#length = length;
  }

  /** Valid until the next `add`. */
  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  clear(): void {
    this.#room = NOTHING;
    this.#length = 0;
  }

  #reserve(length: number): void {
    if (length <= this.#room.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#room.length));
    this.#room.copy(grown, 0, 0, this.#length);
    this.#room = grown;
  }
}
