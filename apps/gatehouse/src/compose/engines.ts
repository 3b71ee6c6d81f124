import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, type Log, openEmbedded, openPostgres, randomToken, Secret } from '@gatehouse/kit'
import { type CounterStore, memoryStore } from '@gatehouse/limiter'
import { redisStore } from '@gatehouse/limiter/redis'
import { Redis } from 'ioredis'
import type { Settings } from '../config.ts'

/** Opens the database the settings name: PostgreSQL, or the embedded engine in the data folder. */
export function openDatabase(settings: Settings, log: Log): Promise<Database> {
  return settings.databaseUrl ? openPostgres({ url: settings.databaseUrl, log }) : openEmbedded(settings.dataDir)
}

export interface Counters {
  readonly store: CounterStore
  /** The shared store's state; undefined where the counters are in memory. */
  readonly ping?: () => Promise<unknown>
  close(): Promise<void>
}

/**
 * Opens the counter store. One that can't be reached doesn't stop the start: the limiter survives its loss. Nothing is
 * queued while it is away, so that no increment is replayed later.
 */
export function openCounters(settings: Settings, log: Log): Counters {
  if (!settings.redisUrl) return { store: memoryStore(), close: async () => {} }
  const client = new Redis(settings.redisUrl.reveal(), {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    retryStrategy: (attempt) => Math.min(1_000, attempt * 50),
  })
  let away = false
  client.on('ready', () => {
    if (away) log.info('the counter store is back')
    away = false
  })
  client.on('error', (error) => {
    if (!away) log.warn({ err: error }, 'the counter store can not be reached; the limiter goes on without it')
    away = true
  })
  return { store: redisStore(client), ping: () => client.ping(), close: async () => client.disconnect() }
}

/** The key that encrypts secrets at rest: the one given, or one made for the embedded engine on its first run. */
export function encryptionKey(settings: Settings): Secret {
  if (settings.encryptionKey) return settings.encryptionKey
  const file = join(settings.dataDir, 'encryption-key')
  try {
    mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 })
    writeFileSync(file, randomToken(), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
  return new Secret(readFileSync(file, 'utf8').trim())
}
