import { constants, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { type Database, embeddedOver, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import pg from 'pg'
import { type Server, temporaryFolder } from './server.ts'

const templateVersion = '0.5.16'

/**
 * An embedded database in memory, empty. Making a first one takes seconds, so the fresh state is kept in a file that
 * the next ones start from.
 */
export async function memoryDatabase(): Promise<Database> {
  const template = await freshTemplate()
  return embeddedOver(await PGlite.create({ loadDataDir: new Blob([template]) }))
}

/** A data folder for the program whose embedded database is made but empty: its first start saves those seconds. */
export async function preparedDataDir(): Promise<string> {
  const folder = temporaryFolder('gatehouse')
  cpSync(await freshFolder(), join(folder, 'postgres'), { recursive: true, mode: constants.COPYFILE_FICLONE })
  return folder
}

const templates = join(tmpdir(), `gatehouse-pglite-${templateVersion}-${process.getuid?.() ?? 0}`)

/** The fresh state as a folder, made once on a machine; of two processes that make it at once, one's stays. */
async function freshFolder(): Promise<string> {
  const folder = join(templates, 'template')
  if (existsSync(folder)) return folder
  const mine = `${folder}.${process.pid}`
  const engine = await PGlite.create({ dataDir: mine, loadDataDir: new Blob([await freshTemplate()]) })
  await engine.close()
  try {
    renameSync(mine, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    rmSync(mine, { recursive: true })
  }
  return folder
}

async function freshTemplate(): Promise<Uint8Array<ArrayBuffer>> {
  const file = join(templates, 'template.tar')
  try {
    return new Uint8Array(readFileSync(file))
  } catch {
    mkdirSync(templates, { recursive: true, mode: 0o700 })
    const engine = await PGlite.create()
    const dump = new Uint8Array(await (await engine.dumpDataDir('none')).arrayBuffer())
    await engine.close()
    const mine = `${file}.${process.pid}`
    writeFileSync(mine, dump)
    renameSync(mine, file)
    return dump
  }
}

let databases = 0

/** A fresh database on a running PostgreSQL; `connections` is the size of the pool. */
export async function postgresDatabase(server: Server, connections: number = 10): Promise<Database> {
  const name = `test_${process.pid}_${++databases}`
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name}`)
  await admin.end()
  const url = new URL(server.url)
  url.pathname = `/${name}`
  return openPostgres({ url: new Secret(url.href), log: silentLog, connections })
}
