import { type Clock, type Log, StartError } from '@gatehouse/kit'
import { migrateNotify, rotateLinkSecret } from '@gatehouse/notify/postgres'
import type { Config } from '../config/config.ts'
import { encryptionKey, openDatabase } from './engines.ts'

/** What became of the secrets of links. */
export interface LinksReport {
  /** How many secrets are valid, the new one included. */
  readonly valid_secrets: number
  /** From when on the new one signs (RFC 3339). */
  readonly signs_from: string
}

/**
 * Has the links of messages signed with a new secret, and ends all from before it where these are compromised. Safe while
 * programs run.
 * @throws StartError where the settings name no notify or no encryption key
 */
export async function rotateLinks(
  { settings }: Config,
  compromised: boolean,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Promise<LinksReport> {
  if (!settings.services.has('notify')) throw new StartError('SERVICES names no notify, whose links these are.')
  if (settings.databaseUrl && !settings.encryptionKey)
    throw new StartError('ENCRYPTION_KEY is required: without it messages carry no signed links.')
  const ring = encryptionKey(settings)
  const database = await openDatabase(settings, log)
  try {
    await migrateNotify(database, { buckets: settings.notifyBuckets })
    const { valid, signsFrom } = await rotateLinkSecret(database, ring, { compromised, now: clock.now() })
    return { valid_secrets: valid, signs_from: new Date(signsFrom).toISOString() }
  } finally {
    await database.close()
  }
}
