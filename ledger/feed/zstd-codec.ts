import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import kafkajs from 'kafkajs';

const compress = promisify(zstdCompress);

/** Lets the driver write record batches with zstd, which it knows by name only, by what Node has built in. */
export function registerZstd(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: ({ buffer }: { readonly buffer: Buffer }) => compress(buffer),
  });
}
