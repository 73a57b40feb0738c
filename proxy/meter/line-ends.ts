const LF = 0x0a;
const CR = 0x0d;

/**
 * Turns the line ends of a stream, LF, CR or CRLF in any mixture and cut anywhere, into LF. A raw CR cannot stand inside
 * JSON text, so each one ends a line. Most streams have none: their chunks come back as they are, uncopied.
 */
export class LineEnds {
  #endedInCr = false;

  toLf(chunk: Buffer): Buffer {
    // The LF of a CRLF that was cut in two: its CR was an LF already.
    const rest = this.#endedInCr && chunk[0] === LF ? chunk.subarray(1) : chunk;
    if (chunk.length > 0) this.#endedInCr = chunk[chunk.length - 1] === CR;
    const first = rest.indexOf(CR);
    return first === -1 ? rest : replaced(rest, first);
  }
}

function replaced(chunk: Buffer, first: number): Buffer {
  const text = Buffer.allocUnsafe(chunk.length);
  text.set(chunk.subarray(0, first));
  let length = first;
  for (let at = first; at < chunk.length; at++) {
    const byte = chunk[at] ?? 0;
    if (byte === CR) {
      text[length++] = LF;
      if (chunk[at + 1] === LF) at++;
    } else text[length++] = byte;
  }
  return text.subarray(0, length);
}
