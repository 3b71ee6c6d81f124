import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ImportedUser } from '@gatehouse/identity'
import { temporaryFolder } from '@gatehouse/testing'
import { importFile } from '../../src/command/import-users.ts'

/** Imports these records of an export; answers the report, and the ids that the store was to create. */
async function imported(records: readonly object[]) {
  const path = join(temporaryFolder('import'), 'users.json')
  writeFileSync(path, JSON.stringify({ users: records }))
  const ids: string[] = []
  const importUsers = async (users: readonly ImportedUser[]) => {
    ids.push(...users.map(({ id }) => id))
    return users.map(({ id }) => ({ id, outcome: 'created' as const }))
  }
  return { report: await importFile({ importUsers }, path, {}), ids }
}

test('an account that is switched off in the export is refused, and the others are imported', async () => {
  const { report, ids } = await imported([
    { id: 'k1', username: 'ann', enabled: true, createdTimestamp: 1 },
    { id: 'k2', username: 'bob', enabled: false, createdTimestamp: 1 },
    { localId: 'f1', email: 'cy@example.com', disabled: false },
    { localId: 'f2', email: 'di@example.com', disabled: true },
    { user_id: 'auth0|a1', email: 'ed@example.com', blocked: false },
    { user_id: 'auth0|a2', email: 'flo@example.com', blocked: true },
  ])
  assert.deepEqual(ids, ['k1', 'f1', 'auth0:a1'])
  const reason = (member: string) =>
    `the account is switched off (${member}): switch it on before the export, or create it here and lock it`
  assert.deepEqual(
    [report.created, report.lines],
    [
      3,
      [
        { line: 2, id: 'k2', outcome: 'refused', reason: reason('enabled: false') },
        { line: 4, id: 'f2', outcome: 'refused', reason: reason('disabled: true') },
        { line: 6, id: 'auth0|a2', outcome: 'refused', reason: reason('blocked: true') },
      ],
    ],
  )
})

test('the service account of a client of Keycloak becomes no user', async () => {
  const { report, ids } = await imported([
    { id: 'k1', username: 'service-account-shop', enabled: true, createdTimestamp: 1, serviceAccountClientId: 'shop' },
  ])
  assert.deepEqual(ids, [])
  assert.deepEqual(report.lines, [
    { line: 1, id: 'k1', outcome: 'refused', reason: 'is the service account of a client: register the client "shop"' },
  ])
})
