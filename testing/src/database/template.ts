import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { createEmbeddedDatabase, type Database } from '@gatehouse/kit'

/** Makes the tables that a test finds in its database. */
export type Prepare = (database: Database) => Promise<unknown>

const manifest = new URL('../package.json', import.meta.resolve('@electric-sql/pglite'))
const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
const templates = resolve(import.meta.dirname, `../../../node_modules/.cache/embedded-${version}`)

/**
 * An embedded database as a folder to be copied, as `prepare` made it. It is kept under `name` for all processes and
 * runs, so a name stands for its content; of two processes that make it at once, one's stays.
 */
export async function templateFolder(name: string, prepare: Prepare): Promise<string> {
  const folder = join(templates, name)
  if (existsSync(folder)) return folder
  const mine = `${folder}.${process.pid}`
  const database = await createEmbeddedDatabase(
    await PGlite.create({ dataDir: mine, loadDataDir: await freshDataDir() }),
  )
  await prepare(database)
  await database.close()
  try {
    renameSync(mine, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    rmSync(mine, { recursive: true })
  }
  return folder
}

/** What an embedded database starts from: making it takes seconds, so it is kept in a file. */
export async function freshDataDir(): Promise<Blob> {
  const file = join(templates, 'fresh.tar')
  if (!existsSync(file)) {
    mkdirSync(templates, { recursive: true })
    const engine = await PGlite.create()
    await engine.exec('CHECKPOINT')
    const dump = await (await engine.dumpDataDir('none')).arrayBuffer()
    await engine.close()
    const mine = `${file}.${process.pid}`
    writeFileSync(mine, new Uint8Array(dump))
    renameSync(mine, file)
  }
  return new Blob([new Uint8Array(readFileSync(file))])
}
