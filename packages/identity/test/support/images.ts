import { crc32, deflateSync } from 'node:zlib'

/** A part of a PNG: length, type, content, checksum. */
function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content])
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(content.length)
  checksum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, checksum])
}

/** A PNG of this size in black; a large one is truncated. */
export function pngOf(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = 8
  const pixels = deflateSync(Buffer.alloc(Math.min(height * (width + 1), 10_000)))
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** The start of a JPEG of this size, behind an APP0 and a Huffman table. */
export function jpegOf(width: number, height: number): Buffer {
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0])
  const segment = (marker: number, length: number) =>
    Buffer.concat([Buffer.from([0xff, marker, 0, length]), Buffer.alloc(length - 2)])
  return Buffer.concat([Buffer.from([0xff, 0xd8]), segment(0xe0, 16), segment(0xc4, 31), frame])
}

/** The start of a WebP of this size: lossy, lossless or extended. */
export function webpOf(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const content = Buffer.alloc(10)
  if (kind === 'VP8X') {
    content.writeUIntLE(width - 1, 4, 3)
    content.writeUIntLE(height - 1, 7, 3)
  } else if (kind === 'VP8L') {
    content[0] = 0x2f
    content.writeUInt32LE((((height - 1) << 14) | (width - 1)) >>> 0, 1)
  } else {
    content.writeUIntBE(0x9d012a, 3, 3)
    content.writeUInt16LE(width, 6)
    content.writeUInt16LE(height, 8)
  }
  const size = Buffer.alloc(4)
  return Buffer.concat([Buffer.from('RIFF'), size, Buffer.from(`WEBP${kind}`), size, content])
}
