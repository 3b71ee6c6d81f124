import { isUnavailable } from '@gatehouse/kit'
import type { ClaimRequest, ClaimResult, Deliveries } from '../../store/store.ts'

/**
 * Claims from buckets together. Where that fails, it claims from each half, until the bucket at fault stands alone.
 *
 * @throws when the database is unavailable
 */
export async function claimByHalves(
  deliveries: Pick<Deliveries, 'claim'>,
  request: ClaimRequest,
): Promise<ClaimResult> {
  try {
    return await deliveries.claim(request)
  } catch (error) {
    const { buckets, limit, now } = request
    const [bucket] = buckets
    if (bucket === undefined || isUnavailable(error)) throw error
    if (buckets.length === 1) return { deliveries: [], nextDueAt: new Map(), failed: new Map([[bucket, error]]) }
    const middle = buckets.length >> 1
    const first = await claimByHalves(deliveries, { ...request, buckets: buckets.slice(0, middle) })
    const rest = buckets.slice(middle)
    const left = limit - first.deliveries.length
    if (left === 0)
      return { ...first, nextDueAt: new Map([...first.nextDueAt, ...rest.map((each) => [each, now] as const)]) }
    const second = await claimByHalves(deliveries, { ...request, buckets: rest, limit: left })
    return {
      deliveries: [...first.deliveries, ...second.deliveries],
      nextDueAt: new Map([...first.nextDueAt, ...second.nextDueAt]),
      failed: new Map([...first.failed, ...second.failed]),
    }
  }
}
