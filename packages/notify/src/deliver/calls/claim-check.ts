import { createBatcher } from '@gatehouse/kit'
import { uncheckedMs } from '../../model/erasure.ts'
import type { BucketErrors, Deliveries } from '../../store/store.ts'
import type { Call } from '../attempt.ts'
import { resultOfDevice } from './skipped-targets.ts'

/**
 * Checks that claimed deliveries are still this process's to send: an erasure, a report or another claim ends that. And
 * that the devices of pushes are still their users'.
 */
export interface ClaimCheck {
  /**
   * Whether each call may be made. A recent claim is trusted; older ones are looked up, those of several calls together.
   * `claimedAt` is from before the claim was made, by `performance.now()`.
   */
  check(calls: readonly ClaimedCall[], claimedAt: number): Promise<readonly boolean[]>
}

type ClaimedCall = Pick<Call, 'attempt' | 'target'>

const maxBatchSize = 500

/** Creates the check of a channel's worker. `onFailed` is called with the buckets that could not be read. */
export function createClaimCheck(
  deliveries: Pick<Deliveries, 'findStillClaimed'>,
  onFailed: (failed: BucketErrors) => void,
): ClaimCheck {
  const lookups = createBatcher<ClaimedCall, boolean>(
    async (calls) => {
      const { ids, tokens, failed } = await deliveries.findStillClaimed(calls.map(({ attempt }) => attempt.claimed))
      if (failed.size > 0) onFailed(failed)
      return calls.map(({ attempt: { claimed }, target }) => {
        const known = tokens?.get(claimed.deliveryId)
        return ids.has(claimed.deliveryId) && !resultOfDevice(known ? { tokens: known } : {}, target)
      })
    },
    { maxBatch: maxBatchSize, concurrency: 1, maxWaiting: Number.POSITIVE_INFINITY },
  )
  return {
    async check(calls, claimedAt) {
      if (performance.now() - claimedAt < uncheckedMs) return calls.map(() => true)
      return Promise.all(calls.map((each) => lookups.add(each)))
    },
  }
}
