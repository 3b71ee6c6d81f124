import { type Log, StartError } from '@gatehouse/kit'
import { type DistributionReport, distributeNotify } from '@gatehouse/notify/postgres'
import type { Config } from '../config/config.ts'
import { openDatabase } from './engines.ts'

/**
 * Distributes the notification tables of the database that the settings name, and first moves them into `changeTo` buckets
 * where that is given.
 * @throws StartError for a database that can't be distributed
 */
export async function distributeTables(
  { settings }: Config,
  log: Log,
  changeTo: number | undefined,
): Promise<DistributionReport> {
  const { databaseUrl, databaseSessionUrl } = settings
  if (!databaseUrl) throw new StartError('the embedded engine is not distributed: DATABASE_URL is required.')
  if (!settings.services.has('notify')) throw new StartError('SERVICES names no notify, whose tables are distributed.')
  // Of one connection, so that all others are other processes': a pooler would keep another one for it.
  const direct = { databaseUrl: databaseSessionUrl ?? databaseUrl, databaseSessionUrl: undefined }
  const database = await openDatabase({ ...settings, ...direct, databaseConnections: 1 }, log)
  try {
    const options = changeTo === undefined ? {} : { changeTo }
    return await distributeNotify(database, { buckets: settings.notifyBuckets, ...options })
  } finally {
    await database.close()
  }
}
