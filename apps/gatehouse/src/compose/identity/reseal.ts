import { defaultLifetimes } from '@gatehouse/identity'
import { identitySealed, migrateIdentity } from '@gatehouse/identity/postgres'
import {
  type Clock,
  type Database,
  type KeyRing,
  type Log,
  type Resealed,
  reseal,
  type SealedColumn,
} from '@gatehouse/kit'
import { migrateNotify, notifySealed } from '@gatehouse/notify/postgres'
import type { Config } from '../../config/config.ts'
import { encryptionKey, openDatabase } from '../engines.ts'

/** What became of the values that are stored sealed. */
export interface ResealReport {
  /** The id of the key that everything is sealed with from now on. */
  readonly current_key: string
  readonly tables: readonly Resealed[]
  readonly old_keys: readonly OldKey[]
}

/** A key that was used before, or that is missing. */
export interface OldKey {
  readonly id: string
  /** How many stored values only this key opens. */
  readonly stored: number
  /** Whether nothing that is stored needs it. */
  readonly removable: boolean
  /** When the links that were mailed while it was used have expired too; left out while it is not removable. */
  readonly removable_after?: string
}

/** Seals what the services of this process keep with the first encryption key. Safe while programs run. */
export async function resealStored({ settings }: Config, log: Log, clock: Clock): Promise<ResealReport> {
  const ring = encryptionKey(settings)
  const database = await openDatabase(settings, log)
  try {
    const columns: SealedColumn[] = []
    if (settings.services.has('identity')) {
      await migrateIdentity(database)
      columns.push(...identitySealed)
    }
    if (settings.services.has('notify')) {
      await migrateNotify(database, { buckets: settings.notifyBuckets })
      columns.push(...notifySealed)
    }
    if (settings.services.has('console')) {
      const { consoleSealed, migrateConsole } = await import('@gatehouse/console/postgres')
      await migrateConsole(database)
      columns.push(...consoleSealed)
    }
    return await resealColumns(database, columns, ring, clock)
  } finally {
    await database.close()
  }
}

async function resealColumns(
  database: Database,
  columns: readonly SealedColumn[],
  ring: KeyRing,
  clock: Clock,
): Promise<ResealReport> {
  const tables: Resealed[] = []
  for (const column of columns) tables.push(await reseal(database, column, ring))
  const ids = new Set([...ring.ids.slice(1), ...tables.flatMap(({ remaining }) => Object.keys(remaining))])
  const after = new Date(clock.now() + defaultLifetimes.verifyLink * 1000).toISOString()
  const old_keys = [...ids].map((id) => {
    const stored = tables.reduce((sum, { remaining }) => sum + (remaining[id] ?? 0), 0)
    return { id, stored, removable: stored === 0, ...(stored === 0 ? { removable_after: after } : {}) }
  })
  return { current_key: ring.currentId, tables, old_keys }
}
