import { defaultTiers } from '@gatehouse/gateway'
import { createIdentity, type Identity, isManagementRole } from '@gatehouse/identity'
import { identitySealed, migrateIdentity, postgresIdentityStore } from '@gatehouse/identity/postgres'
import { checkSealed, type Database } from '@gatehouse/kit'
import type { Notify } from '@gatehouse/notify'
import { type Config, isLoopback } from '../../config/config.ts'
import { branding } from '../branding.ts'
import { consoleClient, consoleSecrets } from '../console-client.ts'
import { omitUndefined } from '../defined-members.ts'
import { encryptionKey } from '../engines.ts'
import type { Counters } from '../gateway/counters.ts'
import type { Ingress } from '../gateway/ingress.ts'
import { limitRules } from '../gateway/limits.ts'
import type { Parts } from '../parts.ts'
import { identityMail } from './mail.ts'

/** What the token service is joined with. */
export interface IdentityNeighbours {
  readonly ingress: Ingress
  readonly counters: Counters
  readonly notify: Notify | undefined
}

/** The token service on its database. */
export async function composeIdentity(
  parts: Parts,
  database: Database,
  { ingress, counters, notify }: IdentityNeighbours,
): Promise<Identity> {
  const { settings, file } = parts.config
  await migrateIdentity(database)
  await checkSealed(database, identitySealed, encryptionKey(settings))
  const ownClients = await consoleClient(settings)
  const identity = await createIdentity({
    store: postgresIdentityStore(database),
    issuer: settings.authUrl,
    baseUrl: settings.baseUrl,
    encryptionKey: encryptionKey(settings),
    lifetimes: lifetimes(file.lifetimes),
    ...omitUndefined({ accessTokenAlgorithm: file.access_token_signed_response_alg }),
    declared: {
      clients: [...(file.clients ?? []), ...ownClients],
      users: declaredUsers(parts),
      resources: file.resources ?? [],
      organizationRoles: file.organization_roles ?? [],
      organizations: file.organizations ?? [],
      connections: file.connections ?? [],
    },
    passwords: passwords(file.passwords),
    serviceClient: settings.serviceClient,
    prometheusUrl: settings.prometheusUrl,
    builtInClients: ownClients.map(({ client_id }) => client_id),
    furtherSecrets: Object.fromEntries(
      ownClients.map(({ client_id }) => [client_id, consoleSecrets(settings).slice(1)]),
    ),
    authenticate: ingress.authenticate,
    limitRules: limitRules(parts.config, counters),
    tiers: tiersOfFile(parts.config),
    ...ingress.attempts,
    ...identityMail(parts, notify),
    branding: branding(parts.config),
    features: features(settings.authUrl, file.features),
    ...omitUndefined({ mfa: file.mfa }),
    clock: parts.clock,
    log: parts.log,
    metrics: parts.metrics,
  })
  for (const worker of identity.workers) parts.resources.push(() => worker.stop())
  return identity
}

/**
 * The users of the file. On a database of its own nobody becomes an administrator by it, least of all the one of the
 * example, whose password stands in the log: that is for `gatehouse admin grant`.
 */
function declaredUsers({ config: { settings, file }, log }: Pick<Parts, 'config' | 'log'>) {
  const { users = [] } = file
  if (!settings.databaseUrl) return users
  return users.map((user) => {
    const { id, roles = [] } = user
    const others = roles.filter((role) => !isManagementRole(role))
    if (others.length === roles.length) return user
    log.warn({ user: id }, 'with DATABASE_URL the file makes nobody an administrator: use `gatehouse admin grant`')
    return { ...user, roles: others }
  })
}

/** An issuer that only this machine reaches has its clients there as well, and may call them. */
export function features(authUrl: string, declared: Parts['config']['file']['features'] = {}) {
  const { registration, password_reset: passwordReset, email_code: emailCode, passkeys } = declared
  return {
    ...omitUndefined({ registration, passwordReset, emailCode, passkeys }),
    loopbackCalls: isLoopback(new URL(authUrl).hostname),
  }
}

/**
 * The tiers of the file, which apply until limits are stored; also for the command line. Undefined where the file has none
 * and the gateway is elsewhere, with a file of its own.
 */
export function tiersOfFile({
  settings: { services },
  file: { tiers },
}: Pick<Config, 'settings' | 'file'>): readonly string[] | undefined {
  return tiers === undefined && !services.has('gateway') ? undefined : Object.keys(tiers ?? defaultTiers)
}

/** What the file says of passwords; also for the command line, which sets some. */
export function passwords(declared: Parts['config']['file']['passwords'] = {}) {
  const { min_length: minLength, hash_memory_mib: memoryMiB, hash_passes: passes } = declared
  return omitUndefined({ minLength, memoryKiB: memoryMiB === undefined ? undefined : memoryMiB * 1_024, passes })
}

/** What the file says of lifetimes; also for the command line, which must know how long what it ends would have lived. */
export function lifetimes(declared: Parts['config']['file']['lifetimes'] = {}) {
  return omitUndefined({
    accessToken: declared.access_token_seconds,
    refreshToken: declared.refresh_token_seconds,
    idToken: declared.id_token_seconds,
    session: declared.session_seconds,
    maxSession: declared.max_session_seconds,
    signingKey: declared.signing_key_seconds,
    auditEvent: declared.audit_event_seconds,
  })
}
