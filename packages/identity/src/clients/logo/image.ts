/** The formats that a logo may have. SVG is none: it can contain scripts and links. */
export type LogoMediaType = 'image/png' | 'image/jpeg' | 'image/webp'

/** The largest width and height of a logo in pixels: a few bytes can unpack to gigabytes. */
export const maxLogoPixels = 2048

interface Size {
  readonly width: number
  readonly height: number
}

const formats: readonly [type: LogoMediaType, sizeOf: (bytes: Buffer) => Size | undefined][] = [
  ['image/png', sizeOfPng],
  ['image/jpeg', sizeOfJpeg],
  ['image/webp', sizeOfWebp],
]

/**
 * The format of an image by its first bytes, whatever its sender called it; undefined for anything but PNG, JPEG and WebP
 * of at most {@link maxLogoPixels} each way.
 */
export function readLogoType(bytes: Buffer): LogoMediaType | undefined {
  for (const [type, sizeOf] of formats) {
    const size = sizeOf(bytes)
    if (size !== undefined) return isWithinBounds(size) ? type : undefined
  }
  return undefined
}

function isWithinBounds({ width, height }: Size): boolean {
  return [width, height].every((length) => length >= 1 && length <= maxLogoPixels)
}

/** Signature, then the chunk IHDR (PNG §5.2, §11.2.1). */
function sizeOfPng(bytes: Buffer): Size | undefined {
  if (bytes.length < 24 || bytes.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') return undefined
  if (bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

/** Segments of a marker and a length, up to the start of the frame (ITU-T T.81 §B.1, §B.2.2). */
function sizeOfJpeg(bytes: Buffer): Size | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined
  let at = 2
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0
    if (isFrameStart(marker)) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    const length = bytes.readUInt16BE(at + 2)
    if (length < 2) return undefined
    at += 2 + length
  }
  return undefined
}

/** SOF0 to SOF15, between which DHT, JPG and DAC have codes too. */
function isFrameStart(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

/** A RIFF container with the first chunk lossy, lossless or extended (RFC 9649 §2.4–2.7). */
function sizeOfWebp(bytes: Buffer): Size | undefined {
  if (bytes.length < 30) return undefined
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') return undefined
  const chunk = bytes.toString('latin1', 12, 16)
  if (chunk === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (chunk === 'VP8L' && bytes[20] === 0x2f) {
    const packed = bytes.readUInt32LE(21)
    return { width: (packed & 0x3fff) + 1, height: ((packed >> 14) & 0x3fff) + 1 }
  }
  if (chunk === 'VP8 ' && bytes.readUIntBE(23, 3) === 0x9d012a)
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  return undefined
}
