import type { SendResult } from '@gatehouse/providers'
import type { Target } from '../../model/notification.ts'
import { suppresses } from '../../model/suppression.ts'
import type { ClaimedDelivery } from '../../store/store.ts'
import type { Unavailable } from '../provider-pool.ts'

/** A mail without the links it must have does not go out, and no try of it is burnt. */
export const linksUnavailable: SendResult = {
  kind: 'rate_limited',
  retryAfterMs: 5_000,
  reason: 'the settings for its links could not be read',
}

/** Its recipient may have unsubscribed, or its address bounced, while it waited here or for another try. */
export function resultOfSuppression(claimed: ClaimedDelivery, target: Target, now: number): SendResult | undefined {
  const { channel, event, critical } = claimed
  const asked = { channel, event, critical, address: target.address, now }
  const found = claimed.suppressions.find((entry) => suppresses(entry, asked))
  return found && { kind: 'permanent', code: 'suppressed', reason: `its address is left out by now: ${found.reason}` }
}

/** Nobody carries to `service`, or nobody does now. */
export function resultWithoutProvider(carrier: Unavailable, service: string, now: number): SendResult {
  if (carrier.kind === 'later')
    return { kind: 'rate_limited', retryAfterMs: Math.max(0, carrier.at - now), reason: carrier.reason }
  const { unresolved } = carrier
  const reason =
    unresolved === undefined
      ? `no provider carries to ${service}`
      : `${unresolved} may have sent it, and no provider of that name carries to ${service} any more`
  return { kind: 'permanent', code: 'no_provider', reason }
}
