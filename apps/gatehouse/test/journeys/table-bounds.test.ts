import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { consoleTables, migrateConsole } from '@gatehouse/console/postgres'
import { identityTables, migrateIdentity } from '@gatehouse/identity/postgres'
import { migrate, migrationTable, type TableBound } from '@gatehouse/kit'
import { limiterTables, migrations } from '@gatehouse/limiter/postgres'
import { migrateNotify, notifyTables } from '@gatehouse/notify/postgres'
import { memoryDatabase } from '@gatehouse/testing'
import { root } from '../support/program.ts'

const bounds: Readonly<Record<string, readonly TableBound[]>> = {
  identity: identityTables,
  notify: notifyTables,
  limiter: [...limiterTables, migrationTable],
  console: consoleTables,
}

/** The table of the operations guide, as the program's own lists make it. */
const written = [
  '| Table | What bounds it | Setting | Kept |',
  '|---|---|---|---|',
  ...Object.entries(bounds).flatMap(([schema, tables]) =>
    tables
      .toSorted((a, b) => (a.table < b.table ? -1 : 1))
      .map(({ table, bound, setting, kept }) => {
        const named = setting === undefined ? '–' : `\`${setting}\``
        return `| \`${schema}.${table}\` | ${bound} | ${named} | ${kept ?? '–'} |`
      }),
  ),
].join('\n')

test('every table of every service has a bound, and nothing that has one is missing', async (t) => {
  const database = await memoryDatabase()
  t.after(() => database.close())
  await migrateIdentity(database)
  await migrateNotify(database)
  await migrate(database, 'limiter', migrations)
  await migrateConsole(database)
  const { rows } = await database.query<{ name: string }>(
    `SELECT format('%s.%s', schemaname, tablename) AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  )
  const listed = Object.entries(bounds).flatMap(([schema, tables]) => tables.map(({ table }) => `${schema}.${table}`))
  assert.deepEqual(
    listed.toSorted(),
    rows.map(({ name }) => name),
  )
})

test('the operations guide shows the bound of every table as the program has it', () => {
  const guide = readFileSync(join(root, 'docs/operations.md'), 'utf8')
  assert.ok(guide.includes(`\n${written}\n`), `docs/operations.md is to say:\n\n${written}\n`)
})

test('every setting that says how long rows are kept is one of the file', () => {
  const schema = JSON.parse(readFileSync(join(root, 'apps/gatehouse/gatehouse.schema.json'), 'utf8'))
  const settings = Object.values(bounds).flatMap((tables) => tables.flatMap(({ setting }) => setting ?? []))
  assert.ok(settings.length > 10)
  for (const setting of settings) {
    const found = setting.split('.').reduce((at, name) => at?.properties?.[name], schema)
    assert.ok(found, `${setting} is not in the file's schema`)
  }
})
