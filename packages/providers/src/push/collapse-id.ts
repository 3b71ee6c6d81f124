import { hash } from 'node:crypto'

/** The id of a message in at most `maxBytes` bytes: the id itself, or its hash if it is longer. */
export function createCollapseId(messageId: string, maxBytes: number): string {
  if (Buffer.byteLength(messageId) <= maxBytes) return messageId
  return hash('sha256', messageId, 'base64url').slice(0, maxBytes)
}
