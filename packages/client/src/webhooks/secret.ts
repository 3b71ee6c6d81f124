import { decodeBase64 } from '../http/base64.ts'

const prefix = 'whsec_'
const minBytes = 24
const maxBytes = 64

/**
 * The key of a secret of Standard Webhooks 1.0: base64 of 24 to 64 bytes, with or without `whsec_` before it.
 * @throws TypeError if it is anything else
 */
export async function importSecret(secret: string): Promise<CryptoKey> {
  const bytes = decodeBase64(secret.startsWith(prefix) ? secret.slice(prefix.length) : secret)
  if (bytes === undefined || bytes.length < minBytes || bytes.length > maxBytes)
    throw new TypeError(`a secret must be ${prefix} and base64 of ${minBytes} to ${maxBytes} bytes`)
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])
}

/** What a signature is computed of: `id.timestamp.body`. */
export function signedContent(id: string, timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const begin = new TextEncoder().encode(`${id}.${timestamp}.`)
  const content = new Uint8Array(begin.length + body.length)
  content.set(begin)
  content.set(body, begin.length)
  return content
}

/**
 * The bytes of a body as it was received.
 * @throws TypeError for one that was parsed: written as JSON again it need not be the same bytes
 */
export function bytesOf(body: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  if (ArrayBuffer.isView(body)) return body
  throw new TypeError('the body must be the text or the bytes that were received, not what was parsed from them')
}
