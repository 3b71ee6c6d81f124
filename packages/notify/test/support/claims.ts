import type { ClaimedDelivery, ClaimRequest, Deliveries } from '../../src/store/store.ts'

/** Claims what is due of a channel: up to ten deliveries of bucket 0, for a minute, unless the request says otherwise. */
export async function claimDue(
  deliveries: Pick<Deliveries, 'claim'>,
  request: Pick<ClaimRequest, 'channel' | 'now'> & Partial<ClaimRequest>,
): Promise<readonly ClaimedDelivery[]> {
  const { deliveries: claimed } = await deliveries.claim({ buckets: [0], limit: 10, leaseMs: 60_000, ...request })
  return claimed
}
