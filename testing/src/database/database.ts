import { constants, cpSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import pg from 'pg'
import { type Server, temporaryFolder } from '../server.ts'
import { type Prepare, templateFolder } from './template.ts'

/**
 * A data folder for the program whose embedded database is made, and as `prepare` makes it: its first start saves those
 * seconds. `name` stands for what `prepare` does.
 */
export async function preparedDataDir(name: string, prepare: Prepare): Promise<string> {
  const folder = temporaryFolder('gatehouse')
  const template = await templateFolder(name, prepare)
  cpSync(template, join(folder, 'postgres'), { recursive: true, mode: constants.COPYFILE_FICLONE })
  return folder
}

let databases = 0

/** Tests hold locks on purpose, on machines that may be busy. */
const patient = { statementMs: 60_000, lockMs: 60_000, idleTransactionMs: 60_000 }

/** A fresh database on a running PostgreSQL; `connections` is the size of the pool. */
export async function postgresDatabase(server: Pick<Server, 'url'>, connections: number = 10): Promise<Database> {
  const name = `test_${process.pid}_${++databases}`
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name}`)
  await admin.end()
  const url = new URL(server.url)
  url.pathname = `/${name}`
  return openPostgres({ url: new Secret(url.href), log: silentLog, connections, timeouts: patient })
}
