import type { ApiKey } from '@gatehouse/client'

/** What is remarkable about a key. */
export type KeyMark = 'unused' | 'noExpiry' | 'expired' | 'twoKeys'

const unusedMs = 90 * 86_400_000

/** What is remarkable about a key at a moment: unused for 90 days, without an expiry, expired, or just rotated. */
export function marksOf(key: ApiKey, now: number): KeyMark[] {
  const used = Date.parse(key.last_used_at ?? key.created_at)
  const isExpired = key.expires_at !== undefined && Date.parse(key.expires_at) <= now
  const found: Record<KeyMark, boolean> = {
    expired: isExpired,
    noExpiry: key.expires_at === undefined,
    unused: !isExpired && used + unusedMs <= now,
    twoKeys: key.previous_key_expires_at !== undefined,
  }
  return (Object.keys(found) as KeyMark[]).filter((mark) => found[mark])
}

/** How much of a key is no secret. */
const prefixLength = 9

/** What is searched for: of a whole key its beginning, since an address is no place for a secret. */
export function searchFor(text: string): string {
  const trimmed = text.trim()
  return trimmed.startsWith('gk_') ? trimmed.slice(0, prefixLength) : trimmed
}
