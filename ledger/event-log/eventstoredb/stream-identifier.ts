import { StreamIdentifier } from './streams-wire.ts';

/** A stream's name as the wire has it: the bytes of its UTF-8. */
export const streamIdentifier = (stream: string): InstanceType<typeof StreamIdentifier> =>
  new StreamIdentifier().setStreamName(Buffer.from(stream));
