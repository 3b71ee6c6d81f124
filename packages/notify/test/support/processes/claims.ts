import { bucketOfUser } from '../../../src/model/id.ts'
import type { ClaimedDelivery, ClaimRequest, Deliveries } from '../../../src/store/store.ts'
import { testBuckets } from '../engine/engine.ts'

const buckets = [bucketOfUser('alice', testBuckets)]

/** Claims what is due of a channel: up to ten deliveries of the bucket of alice, for a minute, unless the request says otherwise. */
export async function claimDue(
  deliveries: Pick<Deliveries, 'claim'>,
  request: Pick<ClaimRequest, 'channel' | 'now'> & Partial<ClaimRequest>,
): Promise<readonly ClaimedDelivery[]> {
  const { deliveries: claimed } = await deliveries.claim({ buckets, limit: 10, leaseMs: 60_000, ...request })
  return claimed
}
