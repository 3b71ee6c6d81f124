import { createIdentity, type Identity } from '@gatehouse/identity'
import { migrateIdentity, postgresIdentityStore } from '@gatehouse/identity/postgres'
import type { Database } from '@gatehouse/kit'
import { encryptionKey } from './engines.ts'
import type { Entrance } from './entrance.ts'
import type { Parts } from './parts.ts'

/** The token service on its database. */
export async function composeIdentity(parts: Parts, database: Database, entrance: Entrance): Promise<Identity> {
  const { settings, file } = parts.config
  await migrateIdentity(database)
  const identity = await createIdentity({
    store: postgresIdentityStore(database),
    issuer: settings.authUrl,
    baseUrl: settings.baseUrl,
    encryptionKey: encryptionKey(settings),
    lifetimes: lifetimes(file.lifetimes),
    declared: { clients: file.clients ?? [], users: file.users ?? [], resources: file.resources ?? [] },
    serviceClient: settings.serviceClient,
    authenticate: entrance.authenticate,
    clock: parts.clock,
    log: parts.log,
    metrics: parts.metrics,
  })
  for (const worker of identity.workers) parts.held.push(() => worker.stop())
  return identity
}

type DeclaredLifetimes = Parts['config']['file']['lifetimes']

function lifetimes(declared: DeclaredLifetimes = {}) {
  const { access_token_seconds: accessToken, refresh_token_seconds: refreshToken, id_token_seconds: idToken } = declared
  return {
    ...(accessToken === undefined ? {} : { accessToken }),
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(idToken === undefined ? {} : { idToken }),
  }
}
