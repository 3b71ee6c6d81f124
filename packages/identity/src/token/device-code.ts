import { tokenHash } from '@gatehouse/kit'
import type { Parts } from '../context/context.ts'
import { OAuthError } from '../oauth/error.ts'
import type { DeviceRequest, HeldGrant } from '../store/index.ts'
import type { Grant, TokenRequest } from './grant.ts'
import { firstRefresh, issueForGrant } from './grant-tokens.ts'
import { termsOf } from './granted-access.ts'

/** The poll of a device (RFC 8628 §3.4, §3.5): tokens once a user has decided. */
export function deviceCode(parts: Parts): Grant {
  return {
    async refuseHopeless(asked) {
      const found = await parts.store.deviceCodes.find(tokenHash(asked.parameters.required('device_code')))
      const now = parts.clock.now()
      if (refuseOver(asked, found, now).state === 'approved') await heldOf(parts, found)
    },
    async issue(asked) {
      const { client, parameters } = asked
      const hash = tokenHash(parameters.required('device_code'))
      const now = parts.clock.now()
      const found = refuseOver(asked, await parts.store.deviceCodes.poll(hash, now), now)
      refuseUnlessApproved(found, now)
      const held = await heldOf(parts, found)
      const terms = termsOf(parts, asked, held)
      const family = { grantId: held.grant.id, scopes: terms.scopes }
      const refresh = firstRefresh(parts, parts.refreshMac, client, family)
      if (!(await parts.store.deviceCodes.consume(hash, now, refresh?.family))) {
        throw new OAuthError('invalid_grant', 'the device_code is used')
      }
      return issueForGrant(parts, { client, held, refreshToken: refresh?.token, terms, issuedAt: asked.receivedAt })
    },
  }
}

/** @throws OAuthError for a device_code that no later poll can make good */
function refuseOver({ client }: TokenRequest, found: DeviceRequest | undefined, now: number): DeviceRequest {
  if (found === undefined || found.clientId !== client.id) {
    throw new OAuthError('invalid_grant', 'the device_code is unknown, used, or not for this client')
  }
  if (found.state === 'consumed') throw new OAuthError('invalid_grant', 'the device_code is used')
  if (found.expiresAt <= now) throw new OAuthError('expired_token', 'the device_code is over; begin again')
  if (found.state === 'denied') throw new OAuthError('access_denied', 'the user said no')
  return found
}

function refuseUnlessApproved(request: DeviceRequest, now: number): void {
  if (request.polledAt !== undefined && now < request.polledAt + request.intervalMs) {
    throw new OAuthError('slow_down', 'too early: add five seconds to the interval')
  }
  if (request.state === 'pending') throw new OAuthError('authorization_pending', 'the user has not decided yet')
}

async function heldOf({ store }: Parts, found: DeviceRequest | undefined): Promise<HeldGrant> {
  const held = found?.grantId === undefined ? undefined : await store.grants.find(found.grantId)
  if (held === undefined || held.grant.revokedAt !== undefined || held.user.lockedAt !== undefined) {
    throw new OAuthError('invalid_grant', 'what was approved is over')
  }
  return held
}
