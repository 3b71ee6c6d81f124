import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Database,
  type KeyRing,
  type Log,
  makeFolder,
  openEmbedded,
  openPostgres,
  randomToken,
  readKeyRing,
  StartError,
} from '@gatehouse/kit'
import type { Settings } from '../config/config.ts'

/** Opens the database the settings name: PostgreSQL, or the embedded engine in the data folder. */
export function openDatabase(settings: Settings, log: Log): Promise<Database> {
  const { databaseUrl: url, databaseSessionUrl: sessionUrl, databaseConnections, databaseTimeouts: timeouts } = settings
  return url
    ? openPostgres({ url, sessionUrl, log, connections: databaseConnections, timeouts })
    : openEmbedded(settings.dataDir)
}

/**
 * The keys that encrypt secrets at rest: those given, or one made for the embedded engine on its first run.
 * @throws StartError when the file of the embedded engine holds none
 */
export function encryptionKey(settings: Settings): KeyRing {
  if (settings.encryptionKey) return settings.encryptionKey
  const file = join(settings.dataDir, 'encryption-key')
  try {
    makeFolder(settings.dataDir)
    writeFileSync(file, randomToken(), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
  const { ring, faults } = readKeyRing(readFileSync(file, 'utf8').trim())
  if (ring === undefined) throw new StartError(faults.map((fault) => `${file}: ${fault}`).join('\n'))
  return ring
}
