import { createIdentity, type Management } from '@gatehouse/identity'
import { migrateIdentity, postgresIdentityStore } from '@gatehouse/identity/postgres'
import { createMetrics, type Log, systemClock } from '@gatehouse/kit'
import type { Config } from '../config/config.ts'
import { namesConsole } from './console-client.ts'
import { omitUndefined } from './defined-members.ts'
import { encryptionKey, openDatabase } from './engines.ts'
import { lifetimes, passwords, tiersOfFile } from './identity/identity.ts'
import { deferredMail } from './identity/mail.ts'

/** Management as functions on the database that the settings name, for the command line; nothing listens. */
export async function composeManagement(
  config: Config,
  log: Log,
): Promise<{ management: Management; close: () => Promise<void> }> {
  const { settings, file } = config
  const database = await openDatabase(settings, log)
  try {
    await migrateIdentity(database)
    const identity = await createIdentity({
      store: postgresIdentityStore(database),
      issuer: settings.authUrl,
      baseUrl: settings.baseUrl,
      encryptionKey: encryptionKey(settings),
      lifetimes: lifetimes(file.lifetimes),
      passwords: passwords(file.passwords),
      tiers: tiersOfFile(config),
      builtInClients: namesConsole(settings) ? [settings.console.clientId] : [],
      branding: omitUndefined({ name: file.branding?.name }),
      authenticate: () => {
        throw new Error('the command line serves no requests')
      },
      ...deferredMail(config),
      background: false,
      clock: systemClock,
      log,
      metrics: createMetrics(),
    })
    return { management: identity.management, close: () => database.close() }
  } catch (error) {
    await database.close()
    throw error
  }
}
