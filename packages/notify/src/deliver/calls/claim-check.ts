import { createBatcher } from '@gatehouse/kit'
import { uncheckedMs } from '../../model/erasure.ts'
import type { BucketErrors, ClaimedDelivery, Deliveries } from '../../store/store.ts'

/** Checks that claimed deliveries are still this process's to send: an erasure, a report or another claim ends that. */
export interface ClaimCheck {
  /**
   * Whether each may be sent. A recent claim is trusted; older ones are looked up, those of several calls together.
   * `claimedAt` is from before the claim was made, by `performance.now()`.
   */
  check(claimed: readonly ClaimedDelivery[], claimedAt: number): Promise<readonly boolean[]>
}

const maxBatchSize = 500

/** Creates the check of a channel's worker. `onFailed` is called with the buckets that could not be read. */
export function createClaimCheck(
  deliveries: Pick<Deliveries, 'findStillClaimed'>,
  onFailed: (failed: BucketErrors) => void,
): ClaimCheck {
  const lookups = createBatcher<ClaimedDelivery, boolean>(
    async (claimed) => {
      const { ids, failed } = await deliveries.findStillClaimed(claimed)
      if (failed.size > 0) onFailed(failed)
      return claimed.map(({ deliveryId }) => ids.has(deliveryId))
    },
    { maxBatch: maxBatchSize, concurrency: 1, maxWaiting: Number.POSITIVE_INFINITY },
  )
  return {
    async check(claimed, claimedAt) {
      if (performance.now() - claimedAt < uncheckedMs) return claimed.map(() => true)
      return Promise.all(claimed.map((each) => lookups.add(each)))
    },
  }
}
