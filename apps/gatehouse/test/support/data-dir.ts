import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Database, migrate } from '@gatehouse/kit'
import { preparedDataDir } from '@gatehouse/testing'

const packages = resolve(import.meta.dirname, '../../../../packages')
const schemas = ['identity', 'notify'].map((name) => ({
  name,
  folder: join(packages, name, 'src/postgres/migrations'),
}))

/** A data folder where the tables of every service are made and empty: the programs of tests start from a copy. */
export function migratedDataDir(): Promise<string> {
  const digest = createHash('sha256')
  for (const { folder } of schemas)
    for (const file of readdirSync(folder).sort()) digest.update(file).update(readFileSync(join(folder, file)))
  return preparedDataDir(`migrated-${digest.digest('hex').slice(0, 16)}`, async (database: Database) => {
    for (const { name, folder } of schemas) await migrate(database, name, pathToFileURL(`${folder}/`))
  })
}
