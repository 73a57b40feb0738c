/** Cuts a byte stream into the messages of Kafka's protocol: a length of four bytes, then that many. */
export function frames(onFrame: (frame: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4) {
      const end = 4 + rest.readInt32BE(0);
      if (rest.length < end) return;
      const frame = Buffer.from(rest.subarray(0, end));
      rest = rest.subarray(end);
      onFrame(frame);
    }
  };
}
