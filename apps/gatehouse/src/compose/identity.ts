import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createIdentity, type Identity } from '@gatehouse/identity'
import { migrateIdentity, postgresIdentityStore } from '@gatehouse/identity/postgres'
import type { Database } from '@gatehouse/kit'
import type { Notify } from '@gatehouse/notify'
import { encryptionKey } from './engines.ts'
import type { Entrance } from './entrance.ts'
import { identityMail } from './identity-mail.ts'
import type { Parts } from './parts.ts'

/** The token service on its database. */
export async function composeIdentity(
  parts: Parts,
  database: Database,
  entrance: Entrance,
  notify: Notify | undefined,
): Promise<Identity> {
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
    limit: entrance.limit,
    ...identityMail(parts, notify),
    ...branding(parts.config),
    features: features(file.features),
    clock: parts.clock,
    log: parts.log,
    metrics: parts.metrics,
  })
  for (const worker of identity.workers) parts.held.push(() => worker.stop())
  return identity
}

function branding({ file, folder }: Parts['config']) {
  if (!file.branding) return {}
  const { name, logo_url: logoUrl, colour, colour_dark: colourDark, texts } = file.branding
  return {
    branding: {
      ...(name === undefined ? {} : { name }),
      ...(logoUrl === undefined ? {} : { logoUrl }),
      ...(colour === undefined ? {} : { colour }),
      ...(colourDark === undefined ? {} : { colourDark }),
      ...(texts === undefined ? {} : { textsFolder: pathToFileURL(`${resolve(folder, texts)}/`) }),
    },
  }
}

function features(declared: Parts['config']['file']['features'] = {}) {
  const { registration, password_reset: passwordReset } = declared
  return {
    ...(registration === undefined ? {} : { registration }),
    ...(passwordReset === undefined ? {} : { passwordReset }),
  }
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
