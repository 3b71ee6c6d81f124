import { tokenHash } from '@gatehouse/kit'
import type { TokenEndpointContext } from '../context/features.ts'
import { OAuthError } from '../oauth/error.ts'
import type { DeviceRequest, UserGrant } from '../store/index.ts'
import type { Grant, TokenRequest } from './grant.ts'
import { createRefreshFamily, issueGrantTokens } from './grant-tokens.ts'
import { resolveAccess } from './granted-access.ts'

/** What each `slow_down` adds to the interval (RFC 8628 §3.5). */
const slowDownMs = 5_000

/** The device grant (RFC 8628 §3.4, §3.5): tokens once the user has decided. */
export function deviceCodeGrant(context: TokenEndpointContext): Grant {
  return {
    async rejectPermanently(request) {
      const found = await context.store.deviceCodes.find(tokenHash(request.parameters.getRequired('device_code')))
      const now = context.clock.now()
      if (requireOpen(request, found, now).state === 'approved') await findApprovedGrant(context, found)
    },
    async issue(request) {
      const { client, parameters } = request
      const hash = tokenHash(parameters.getRequired('device_code'))
      const now = context.clock.now()
      const found = requireOpen(request, await context.store.deviceCodes.poll(hash, now, slowDownMs), now)
      requireApproved(found, now)
      const userGrant = await findApprovedGrant(context, found)
      const terms = await resolveAccess(context, request, userGrant)
      const family = { grantId: userGrant.grant.id, scopes: terms.scopes }
      const refresh = createRefreshFamily(context, context.refreshMac, client, family)
      if (!(await context.store.deviceCodes.consume(hash, now, refresh?.family))) {
        throw new OAuthError('invalid_grant', 'the device_code was already used')
      }
      return issueGrantTokens(context, {
        client,
        userGrant,
        refreshToken: refresh?.token,
        terms,
        issuedAt: request.receivedAt,
      })
    },
  }
}

/** @throws OAuthError for a device_code that no later poll can make good */
function requireOpen({ client }: TokenRequest, found: DeviceRequest | undefined, now: number): DeviceRequest {
  if (found === undefined || found.clientId !== client.id) {
    throw new OAuthError('invalid_grant', 'the device_code is invalid, already used or was issued to another client')
  }
  if (found.state === 'consumed') throw new OAuthError('invalid_grant', 'the device_code was already used')
  if (found.expiresAt <= now)
    throw new OAuthError('expired_token', 'the device_code has expired; start a new device authorization')
  if (found.state === 'denied') throw new OAuthError('access_denied', 'the user denied the request')
  return found
}

function requireApproved(request: DeviceRequest, now: number): void {
  if (request.polledAt !== undefined && now < request.polledAt + request.intervalMs) {
    throw new OAuthError('slow_down', 'polled too early; increase the interval by five seconds')
  }
  if (request.state === 'pending') throw new OAuthError('authorization_pending', 'the user has not yet decided')
}

async function findApprovedGrant(
  { store }: TokenEndpointContext,
  found: DeviceRequest | undefined,
): Promise<UserGrant> {
  const userGrant = found?.grantId === undefined ? undefined : await store.grants.find(found.grantId)
  if (userGrant === undefined || userGrant.grant.revokedAt !== undefined || userGrant.user.lockedAt !== undefined) {
    throw new OAuthError('invalid_grant', 'the grant is no longer active')
  }
  return userGrant
}
