import { encodeBase64Url } from './base64.ts'

/** A random id of 128 bits. Unlike `crypto.randomUUID` it is there in pages over plain http too. */
export function randomId(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(16)))
}
