import { createGatherer } from '@gatehouse/kit'
import { uncheckedMs } from '../../model/erasure.ts'
import type { ClaimedDelivery, Deliveries } from '../../store/store.ts'

/** Whether claimed deliveries may be sent. A claim of a moment ago is trusted; those that waited are looked up, together. */
export interface ClaimCheck {
  check(claimed: readonly ClaimedDelivery[], claimedAt: number): Promise<readonly boolean[]>
}

const maxBatchSize = 500

/** `claimedAt` is from before the claim was made, by `performance.now()`. */
export function createClaimCheck(deliveries: Pick<Deliveries, 'findStillClaimed'>): ClaimCheck {
  const lookups = createGatherer<ClaimedDelivery, boolean>(
    async (claimed) => {
      const held = new Set<string>()
      for (const [bucket, mine] of Map.groupBy(claimed, (each) => each.bucket))
        for (const id of await deliveries.findStillClaimed(bucket, mine)) held.add(id)
      return claimed.map(({ deliveryId }) => held.has(deliveryId))
    },
    { most: maxBatchSize, lanes: 1, mostWaiting: Number.POSITIVE_INFINITY },
  )
  return {
    async check(claimed, claimedAt) {
      if (performance.now() - claimedAt < uncheckedMs) return claimed.map(() => true)
      return Promise.all(claimed.map((each) => lookups.do(each)))
    },
  }
}
