import { createHmac, hash } from 'node:crypto'

const blockBytes = 64
const digestBytes = 32
/** Longer texts are rare, and what `createHmac` costs beside their digest is little. */
const maxShortBytes = 8_192
const maxBytesPerCodeUnit = 3

/**
 * A key of HMAC with SHA-256 (RFC 2104). `createHmac` sets up an object outside the heap at each call, which costs several
 * times the digest of a short text. So the padded keys are prepared once here, with room behind them for what is hashed,
 * and two plain digests are left.
 */
export class HmacKey {
  readonly #key: Buffer
  /** The key XOR ipad, and the text. */
  readonly #inner: Buffer
  /** The key XOR opad, and the inner digest. */
  readonly #outer: Buffer

  constructor(key: Buffer) {
    this.#key = key
    this.#inner = Buffer.alloc(blockBytes + maxShortBytes)
    this.#outer = Buffer.alloc(blockBytes + digestBytes)
    const block = Buffer.alloc(blockBytes)
    block.set(key.length > blockBytes ? hash('sha256', key, 'buffer') : key)
    this.#inner.set(block.map((byte) => byte ^ 0x36))
    this.#outer.set(block.map((byte) => byte ^ 0x5c))
  }

  /** The code of a text in UTF-8, in base64. */
  sign(text: string): string {
    if (text.length * maxBytesPerCodeUnit > maxShortBytes) return this.digest(text).toString('base64')
    const end = blockBytes + this.#inner.write(text, blockBytes)
    this.#outer.write(hash('sha256', this.#inner.subarray(0, end), 'binary'), blockBytes, 'binary')
    return hash('sha256', this.#outer, 'base64')
  }

  /** The code of texts in UTF-8 and bytes, one after the other. */
  digest(...parts: ReadonlyArray<string | Buffer>): Buffer {
    const hmac = createHmac('sha256', this.#key)
    for (const part of parts) hmac.update(part)
    return hmac.digest()
  }
}
