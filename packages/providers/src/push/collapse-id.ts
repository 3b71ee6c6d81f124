import { hash } from 'node:crypto'

/** A message's id in at most `bytes` bytes: itself where it fits, else its hash; the same at every try. */
export function createCollapseId(messageId: string, bytes: number): string {
  if (Buffer.byteLength(messageId) <= bytes) return messageId
  return hash('sha256', messageId, 'base64url').slice(0, bytes)
}
