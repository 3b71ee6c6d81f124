import type { SendResult } from '@gatehouse/providers'
import { suppresses } from '../../model/delivery/suppression.ts'
import type { Target } from '../../model/notification/notification.ts'
import type { ClaimedDelivery } from '../../store/store.ts'
import type { Unavailable } from '../providers/provider-pool.ts'

/** The result of a mail whose links could not be built: it is not sent without them, and the attempt does not count. */
export const linksUnavailable: SendResult = {
  kind: 'rate_limited',
  retryAfterMs: 5_000,
  reason: 'the settings for its links could not be read',
}

/**
 * The result of a target that was suppressed since the delivery was planned: the recipient unsubscribed, or the address
 * bounced. Undefined for one that was not.
 */
export function resultOfSuppression(claimed: ClaimedDelivery, target: Target, now: number): SendResult | undefined {
  const { channel, event, critical } = claimed
  const message = { channel, event, critical, address: target.address, now }
  const found = claimed.suppressions.find((entry) => suppresses(entry, message))
  return found && { kind: 'permanent', code: 'suppressed', reason: `its address is left out by now: ${found.reason}` }
}

/**
 * The result of a device that its user does not have any more since the push was planned: it has changed hands, was signed
 * out, or has another token. Undefined for one that the user has.
 */
export function resultOfDevice({ tokens }: Pick<ClaimedDelivery, 'tokens'>, target: Target): SendResult | undefined {
  if (!tokens || tokens.includes(target.address)) return undefined
  return { kind: 'dead_token', reason: "its device is no longer the user's" }
}

/** The result of a target for which no provider is available at `now` (Unix milliseconds), or none supports `service`. */
export function resultWithoutProvider(choice: Unavailable, service: string, now: number): SendResult {
  if (choice.kind === 'later')
    return { kind: 'rate_limited', retryAfterMs: Math.max(0, choice.at - now), reason: choice.reason }
  const { unresolved } = choice
  const reason =
    unresolved === undefined
      ? `no provider supports ${service}`
      : `${unresolved} may have sent it, and no provider of that name supports ${service} any more`
  return { kind: 'permanent', code: 'no_provider', reason }
}
