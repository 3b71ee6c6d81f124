import type { ClaimedDelivery } from '../store/store.ts'

/**
 * Tries deliveries whose workers died while they held them one at a time: most had only waited beside the one that was
 * at fault, which must be told from them.
 */
export interface Quarantine {
  /** The one that may be tried now, where none is being tried, and those that wait. The lease ends by `performance.now()`. */
  admit(suspected: readonly ClaimedDelivery[], leaseEndsAt: number): Admitted
  ended(claimed: ClaimedDelivery): void
}

interface Admitted {
  readonly tried: readonly ClaimedDelivery[]
  readonly waiting: readonly ClaimedDelivery[]
}

export function createQuarantine(): Quarantine {
  let current: { readonly deliveryId: string; readonly endsAt: number } | undefined
  return {
    admit(suspected, leaseEndsAt) {
      const [first, ...rest] = suspected
      const isFree = current === undefined || performance.now() > current.endsAt
      if (!isFree || !first) return { tried: [], waiting: suspected }
      current = { deliveryId: first.deliveryId, endsAt: leaseEndsAt }
      return { tried: [first], waiting: rest }
    },
    ended({ deliveryId }) {
      if (current?.deliveryId === deliveryId) current = undefined
    },
  }
}
