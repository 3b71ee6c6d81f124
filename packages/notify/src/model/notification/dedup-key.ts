import { hash } from 'node:crypto'
import type { Channel } from '../channel.ts'

/** What a timeline shows of a key, in bytes. */
const maxBytes = 1_200

/**
 * The key under which the log knows a notification on one channel: `<event_type>:<dedup_key>:<user_id>:<channel>`. A
 * producer's key that already ends in `:<user_id>:<this channel>` is taken as composed and kept. One that is too long for
 * a timeline is `sha256:` and its hash.
 */
export function composeDedupKey(event: string, dedupKey: string, userId: string, channel: Channel): string {
  const key = dedupKey.endsWith(`:${userId}:${channel}`) ? dedupKey : `${event}:${dedupKey}:${userId}:${channel}`
  const isShort = key.length * 3 <= maxBytes || Buffer.byteLength(key) <= maxBytes
  return isShort ? key : `sha256:${hash('sha256', key)}`
}
