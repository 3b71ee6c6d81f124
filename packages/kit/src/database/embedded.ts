import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { makeFolder } from '../folder.ts'
import { StartError } from '../start-error.ts'
import { createDatabase, type Database, typeParsers } from './database.ts'

/**
 * Opens the embedded PostgreSQL in `directory`, held by this process alone. It survives the death of the process, not
 * of the machine (it does not fsync). Throws {@link StartError} when the folder is in use or can't be written.
 */
export async function openEmbedded(directory: string): Promise<Database> {
  const unlock = lock(directory)
  try {
    // Half a megabyte of program, which a process on a PostgreSQL of its own never needs.
    const { PGlite } = await import('@electric-sql/pglite')
    return await createEmbeddedDatabase(await PGlite.create(join(directory, 'postgres')), unlock)
  } catch (error) {
    unlock()
    throw new StartError(`the embedded database in ${directory} can't be opened: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** A database over a PGlite that the caller made; closing the one closes the other. */
export async function createEmbeddedDatabase(engine: PGlite, unlock: () => void = () => {}): Promise<Database> {
  const { createPgConfig } = await import('@electric-sql/pglite/node-postgres')
  const pool = new pg.Pool({ ...createPgConfig(engine), max: 1, pipeline: true, types: typeParsers })
  return createDatabase(pool, {
    engine: 'embedded',
    listen(channel, hearing) {
      const listening = engine.listen(channel, (payload) => hearing.onNotification(payload))
      listening.then(
        () => hearing.onGap(),
        () => {},
      )
      return async () => (await listening)()
    },
    async release() {
      await engine.close()
      unlock()
    },
  })
}

/** Takes the folder for this process. The kernel gives the lock back when the process dies, however it dies. */
function lock(directory: string): () => void {
  try {
    makeFolder(directory)
    const holder = new DatabaseSync(join(directory, 'lock'))
    holder.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return () => holder.close()
  } catch (error) {
    const { errcode, message } = error as { errcode?: number; message: string }
    if (errcode === sqliteBusy)
      throw new StartError(`the data folder ${directory} is in use by another process (DATA_DIR).`)
    throw new StartError(`the data folder ${directory} can't be written (DATA_DIR): ${message}`, { cause: error })
  }
}

const sqliteBusy = 5
