import { hash } from 'node:crypto'

/** Printable ASCII, without spaces: what every header field and payload can carry. */
const plain = /^[\x21-\x7e]+$/

/** The id of a message in at most `maxBytes` bytes of ASCII: the id itself, or its hash if it is longer or not printable. */
export function createCollapseId(messageId: string, maxBytes: number): string {
  if (plain.test(messageId) && messageId.length <= maxBytes) return messageId
  return hash('sha256', messageId, 'base64url').slice(0, maxBytes)
}
