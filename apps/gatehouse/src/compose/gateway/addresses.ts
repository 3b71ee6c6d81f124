import type { IncomingMessage } from 'node:http'
import { createClientAddressLookup, createForwardedClaims } from '@gatehouse/gateway'
import type { Clock, Log } from '@gatehouse/kit'
import type { Config } from '../../config/config.ts'

/**
 * Whom requests come from: by the file's trusted proxies and, where this process has no gateway, by what a gateway of
 * ours claims under the service client's secret.
 */
export function composeAddresses({ settings, file }: Config, clock: Clock, log: Log): (raw: IncomingMessage) => string {
  const { services, serviceClient } = settings
  const behindGateway = serviceClient !== undefined && !services.has('gateway')
  return createClientAddressLookup({
    trustedProxies: file.trusted_proxies ?? [],
    ...(behindGateway ? { claims: createForwardedClaims(serviceClient.secret, clock) } : {}),
    onFalseClaim: () =>
      log.warn(
        'a request claims to come from our gateway and does not: another SERVICE_CLIENT_SECRET, or another clock',
      ),
  })
}
