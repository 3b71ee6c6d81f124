import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { bucketOfUser } from '../../../src/model/id.ts'
import { postgresRecipients } from '../../../src/postgres/users/recipients.ts'
import { notifyDatabase } from '../../support/engine/database.ts'

const buckets = 16
const now = Date.parse('2026-06-01T12:00:00Z')

/** A database whose buckets are on nodes; `seen` gets the bucket of each statement that names one. */
function onNodes(database: Database, seen: number[]): Database & { ofBuckets(buckets: readonly number[]): Database } {
  return {
    ...database,
    ofBuckets(buckets) {
      seen.push(...buckets)
      return database
    },
  }
}

test('what is written of one recipient goes to the node of its bucket alone', async () => {
  const database = await notifyDatabase()
  const seen: number[] = []
  const recipients = postgresRecipients(onNodes(database, seen), buckets)
  const before = { userId: 'alice', email: 'alice@example.com' }
  const after = { userId: 'alice', email: 'alice@example.org' }
  await recipients.put([before], now)
  assert.equal(await recipients.replace(after, before, now), true)
  await recipients.setZoneinfo('alice', 'Europe/Berlin', now)
  await recipients.feed(before, now)
  assert.equal(await recipients.remove('alice'), true)
  assert.deepEqual(seen, Array(5).fill(bucketOfUser('alice', buckets)))
  await database.close()
})
