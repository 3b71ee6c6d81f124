import { type Console, type ConsoleOptions, createConsole, separateOrigins } from '@gatehouse/console'
import { consoleSealed, migrateConsole, postgresConsoleStore } from '@gatehouse/console/postgres'
import { checkSealed, type Database, type Http } from '@gatehouse/kit'
import type { Settings } from '../config/config.ts'
import { ownAddress } from '../config/environment/console.ts'
import { consoleSecret } from './console-client.ts'
import { encryptionKey } from './engines.ts'
import type { Ingress } from './gateway/ingress.ts'
import type { Parts } from './parts.ts'

/** The admin console on its database. It calls the APIs over HTTP, also those of this process. */
export async function composeConsole(
  { config, clock, log, resources }: Parts,
  database: Database,
  { attempts: { limit } }: Pick<Ingress, 'attempts'>,
): Promise<Console> {
  const { settings } = config
  const key = encryptionKey(settings)
  await migrateConsole(database)
  await checkSealed(database, consoleSealed, key)
  const admin = createConsole({
    publicUrl: settings.console.url,
    issuer: settings.authUrl,
    apiUrl: settings.baseUrl,
    client: { id: settings.console.clientId, secret: consoleSecret(settings) },
    services: consoleServices(settings),
    encryptionKey: key,
    store: postgresConsoleStore(database),
    limit,
    clock,
    log,
  })
  resources.push(() => admin.stop())
  return admin
}

/** Keeps the origin of the console apart from those of APIs and pages; before anything is registered. */
export function keepOriginsApart(http: Http, { console }: Settings): void {
  if (console.ownOrigin) separateOrigins(http, console.url)
}

function consoleServices(settings: Settings): ConsoleOptions['services'] {
  const { services, identityUrl, authUrl, notifyUrl, gatewayUrl } = settings
  const here = ownAddress(settings)
  const notify = services.has('notify') ? here : notifyUrl
  const gateway = services.has('gateway') ? here : gatewayUrl
  return {
    identity: services.has('identity') ? here : (identityUrl ?? authUrl),
    ...(notify === undefined ? {} : { notify }),
    ...(gateway === undefined ? {} : { gateway }),
  }
}
