import { hash } from 'node:crypto'
import type { Channel } from '../../model/channel.ts'

const hexDigits = 32

/**
 * A dedup key of a user as the log knows it: 16 bytes of the SHA-256 of its channel and its text, as a UUID. The text is
 * in the notification; in the log and its index it would take most of the room. Two keys of one user share a hash once in
 * 2^64 keys.
 */
export function dedupHash(channel: Channel, key: string): string {
  return hash('sha256', `${channel} ${key}`).slice(0, hexDigits)
}
