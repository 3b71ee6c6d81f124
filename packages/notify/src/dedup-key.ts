import type { Channel } from './channel.ts'

/**
 * The key under which the log knows a notification on one channel: `<event_type>:<dedup_key>:<user_id>:<channel>`. A
 * producer's key that already ends in `:<user_id>:<this channel>` is taken as composed and kept.
 */
export function composeDedupKey(event: string, dedupKey: string, userId: string, channel: Channel): string {
  return dedupKey.endsWith(`:${userId}:${channel}`) ? dedupKey : `${event}:${dedupKey}:${userId}:${channel}`
}
