import { Transform, type TransformCallback } from 'node:stream'

/** Why a WebSocket is closed (RFC 6455 §7.4.1). */
export const closeCodes = { goingAway: 1001, policyViolation: 1008 } as const
/** One of {@link closeCodes}. */
export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes]

const closeOpcode = 0x88

/**
 * Finds frame boundaries in the bytes of one direction (RFC 6455 §5.2). Servers do not mask, and extensions change no
 * lengths.
 */
class FrameCursor {
  readonly #head = Buffer.alloc(14)
  #headLength = 0
  #payloadLeft = 0

  get isBetweenFrames(): boolean {
    return this.#headLength === 0 && this.#payloadLeft === 0
  }

  /** Advances from `at` to the end of a frame or of the chunk, and returns the position. */
  advance(chunk: Buffer, at: number): number {
    if (this.#payloadLeft === 0) return this.#readHead(chunk, at)
    const end = Math.min(chunk.length, at + this.#payloadLeft)
    this.#payloadLeft -= end - at
    return end
  }

  #readHead(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length) {
      this.#head[this.#headLength++] = chunk[at++] ?? 0
      if (this.#headLength < headLength(this.#head, this.#headLength)) continue
      this.#payloadLeft = payloadLength(this.#head)
      this.#headLength = 0
      break
    }
    return at
  }
}

function headLength(head: Buffer, known: number): number {
  if (known < 2) return 2
  const second = head[1] ?? 0
  const length = second & 0x7f
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (second & 0x80 ? 4 : 0)
}

function payloadLength(head: Buffer): number {
  const length = (head[1] ?? 0) & 0x7f
  if (length === 126) return head.readUInt16BE(2)
  return length === 127 ? Number(head.readBigUInt64BE(2)) : length
}

/** Forwards an upstream's frames until {@link closeWith}: then the current frame is the last, and a close frame follows. */
export class WebSocketCloser extends Transform {
  readonly #cursor = new FrameCursor()
  #close: { readonly code: CloseCode; readonly reason: string } | undefined
  #ended = false

  /** Closes after the current frame; does nothing once the upstream has ended. */
  closeWith(code: CloseCode, reason: string): void {
    this.#close ??= { code, reason }
    if (this.#cursor.isBetweenFrames) this.#end(this.#close)
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let at = 0
    while (at < chunk.length && !this.#ended) {
      at = this.#cursor.advance(chunk, at)
      if (this.#close === undefined || !this.#cursor.isBetweenFrames) continue
      this.push(chunk.subarray(0, at))
      this.#end(this.#close)
    }
    if (!this.#ended) this.push(chunk)
    done()
  }

  override _flush(done: TransformCallback): void {
    this.#ended = true
    done()
  }

  #end({ code, reason }: { readonly code: CloseCode; readonly reason: string }): void {
    if (this.#ended) return
    this.#ended = true
    const text = Buffer.from(reason)
    const head = Buffer.from([closeOpcode, text.length + 2, code >> 8, code & 0xff])
    this.push(Buffer.concat([head, text]))
    this.push(null)
  }
}
