import type { Clock } from '@gatehouse/kit'

const windowMs = 60_000
/** Three reports, repeated for as many devices as a user may have. */
const maxPerWindow = 60
/** Deliveries counted at once; beyond it counting begins again. */
const maxCounted = 50_000

/** How many receipts of a delivery this process takes in a minute: a token is a credential that anybody may repeat. */
export interface ReceiptLimit {
  /** Counts one; false when the delivery has had its receipts. */
  take(deliveryId: string): boolean
}

/** Creates the limit of receipts per message and minute. */
export function createReceiptLimit(clock: Clock): ReceiptLimit {
  const counts = new Map<string, number>()
  let endsAt = 0
  return {
    take(deliveryId) {
      const now = clock.now()
      if (now >= endsAt || counts.size >= maxCounted) {
        counts.clear()
        endsAt = now + windowMs
      }
      const count = (counts.get(deliveryId) ?? 0) + 1
      counts.set(deliveryId, count)
      return count <= maxPerWindow
    },
  }
}
