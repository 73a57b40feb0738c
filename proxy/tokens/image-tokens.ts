/**
 * What an image is billed as: a visual token for each patch of 28 by 28 pixels, once it is scaled down to what models
 * take (the provider's table, platform.claude.com, build-with-claude/vision: at most 1,568 pixels on the long edge and
 * 1,568 tokens; models of higher resolution take three times as much, which an estimate does not assume). The size is
 * read from the first bytes of PNG, GIF, WebP and JPEG; an image whose size cannot be read so counts as the most.
 */
export function imageTokens(base64: string): number {
  const size = imageSize(Buffer.from(base64.slice(0, HEADER_BASE64_MAX), 'base64'));
  return size === null ? IMAGE_TOKENS_ESTIMATE_MAX : Math.min(IMAGE_TOKENS_ESTIMATE_MAX, patches(size));
}

/** Of an image of which only the address is known, too. */
export const IMAGE_TOKENS_ESTIMATE_MAX = 1_568;

const PATCH_PIXELS = 28;
const LONG_EDGE_MAX = 1_568;
/** A JPEG's size stands behind its metadata, which seldom has more than 64 KiB. */
const HEADER_BASE64_MAX = 128 * 1024;

interface Size {
  readonly width: number;
  readonly height: number;
}

function patches({ width, height }: Size): number {
  const scale = Math.min(1, LONG_EDGE_MAX / Math.max(width, height));
  return Math.ceil((width * scale) / PATCH_PIXELS) * Math.ceil((height * scale) / PATCH_PIXELS);
}

function imageSize(bytes: Buffer): Size | null {
  const size = pngSize(bytes) ?? gifSize(bytes) ?? webpSize(bytes) ?? jpegSize(bytes);
  return size === null || size.width === 0 || size.height === 0 ? null : size;
}

const startsWith = (bytes: Buffer, at: number, text: string): boolean =>
  bytes.length >= at + text.length && bytes.toString('latin1', at, at + text.length) === text;

function pngSize(bytes: Buffer): Size | null {
  if (!startsWith(bytes, 0, '\x89PNG\r\n\x1a\n') || bytes.length < 24) return null;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function gifSize(bytes: Buffer): Size | null {
  if (!startsWith(bytes, 0, 'GIF8') || bytes.length < 10) return null;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** Of the three forms: lossy, lossless, extended. */
function webpSize(bytes: Buffer): Size | null {
  if (!startsWith(bytes, 0, 'RIFF') || !startsWith(bytes, 8, 'WEBP') || bytes.length < 30) return null;
  if (startsWith(bytes, 12, 'VP8 '))
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  if (startsWith(bytes, 12, 'VP8L')) {
    const bits = bytes.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
  }
  if (startsWith(bytes, 12, 'VP8X')) return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  return null;
}

/** In the frame header (SOF), the markers before which are passed over by their lengths. */
function jpegSize(bytes: Buffer): Size | null {
  if (!startsWith(bytes, 0, '\xff\xd8')) return null;
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    // Between C0 and CF, but for the tables of Huffman (C4), arithmetic coding (CC) and the reserved C8.
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc)
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
}
