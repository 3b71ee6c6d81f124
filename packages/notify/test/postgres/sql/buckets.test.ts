import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketOfUser, newIdOfUser } from '../../../src/model/id.ts'
import {
  bucketsOfIds,
  bucketsOfUsers,
  groupByBucket,
  readDistributed,
  scopeOf,
  textFor,
} from '../../../src/postgres/sql/buckets.ts'
import { keyOf } from '../../../src/postgres/sql/plans.ts'
import { embeddedDatabase } from '../../support/engine/embedded.ts'

const users = Array.from({ length: 40 }, (_, n) => `user-${n}`)
const one = { count: 8, bucket: 3 }

test('items of all buckets are one group, and of distributed ones one for each in order', () => {
  const whole = groupByBucket({ count: 8, distributed: false }, users, bucketOfUser)
  assert.deepEqual(whole, [{ scope: { count: 8 }, items: users }])
  const apart = groupByBucket({ count: 8, distributed: true }, users, bucketOfUser)
  const buckets = apart.map(({ scope }) => scope.bucket ?? -1)
  assert.deepEqual(
    buckets,
    buckets.toSorted((a, b) => a - b),
  )
  assert.equal(new Set(buckets).size, buckets.length)
  for (const { scope, items } of apart)
    assert.deepEqual(
      items,
      users.filter((user) => bucketOfUser(user, 8) === scope.bucket),
    )
  assert.deepEqual(groupByBucket({ count: 8, distributed: true }, [], bucketOfUser), [])
})

test('rows carry the bucket of their user, and none where the statement is for one bucket', () => {
  const own = `{${users.map((user) => bucketOfUser(user, 8)).join(',')}}`
  assert.equal(bucketsOfUsers({ count: 8 }, users), own)
  assert.equal(
    bucketsOfIds({ count: 8 }, users.map(newIdOfUser), (id) => id),
    own,
  )
  assert.equal(bucketsOfUsers(one, users), 3)
  assert.deepEqual(scopeOf({ count: 8, distributed: false }, 3), { count: 8 })
  assert.deepEqual(scopeOf({ count: 8, distributed: true }, 3), one)
})

const texts = [
  {
    written: `UPDATE notify.delivery d SET state = 'sent' FROM unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)
              WHERE ${keyOf('d', 'r')} AND d.state = 'queued'`,
    forOne: `UPDATE notify.delivery d SET state = 'sent' FROM unnest($2::uuid[]) AS r (id)
              WHERE d.bucket = $1::smallint AND d.id = ANY (ARRAY[r.id]) AND d.state = 'queued'`,
  },
  {
    written: `SELECT c.version FROM unnest($1::smallint[], $2::text[]) AS u (bucket, user_id)
              CROSS JOIN LATERAL (SELECT * FROM notify.cap c WHERE c.bucket = u.bucket AND c.user_id = u.user_id) AS c`,
    forOne: `SELECT c.version FROM unnest($2::text[]) AS u (user_id)
              CROSS JOIN LATERAL (SELECT * FROM notify.cap c WHERE c.bucket = $1::smallint AND c.user_id = u.user_id) AS c`,
  },
  {
    written: `INSERT INTO notify.cap (bucket, user_id) SELECT u.bucket, u.user_id
              FROM unnest($1::smallint[], $2::text[]) WITH ORDINALITY AS u (bucket, user_id, place) ORDER BY u.place`,
    forOne: `INSERT INTO notify.cap (bucket, user_id) SELECT anchor.bucket, u.user_id
              FROM unnest($2::text[]) WITH ORDINALITY AS u (user_id, place) JOIN notify.bucket_anchor AS anchor ON anchor.bucket = $1::smallint ORDER BY u.place`,
  },
  {
    written: `INSERT INTO notify.notification (bucket, id, data) SELECT n.bucket, n.id, n.data
              FROM ROWS FROM (unnest($1::smallint[], $2::uuid[]), json_array_elements($3::json)) AS n (bucket, id, data)`,
    forOne: `INSERT INTO notify.notification (bucket, id, data) SELECT anchor.bucket, n.id, n.data
              FROM ROWS FROM (unnest($2::uuid[]), json_array_elements($3::json)) AS n (id, data) JOIN notify.bucket_anchor AS anchor ON anchor.bucket = $1::smallint`,
  },
  {
    written: `SELECT b.bucket, q.id FROM unnest($1::smallint[]) AS b (bucket)
              CROSS JOIN LATERAL (SELECT id FROM notify.scheduled s WHERE s.bucket = b.bucket LIMIT 1) AS q`,
    forOne: `SELECT b.bucket, q.id FROM (SELECT bucket FROM notify.bucket_anchor WHERE bucket = $1::smallint) AS b (bucket)
              CROSS JOIN LATERAL (SELECT id FROM notify.scheduled s WHERE s.bucket = $1::smallint LIMIT 1) AS q`,
  },
]

test('a statement is written once, and its text for one bucket follows from it', () => {
  for (const { written, forOne } of texts) {
    assert.equal(textFor({ count: 8 }, written), written)
    assert.equal(textFor(one, written), forOne)
    assert.equal(textFor(one, written), forOne)
  }
  assert.throws(() => textFor(one, 'SELECT 1'), /rows that carry their bucket/)
})

test('both texts of a statement insert the same rows where nothing is distributed', async (t) => {
  const database = await embeddedDatabase()
  t.after(() => database.close())
  assert.equal(await readDistributed(database), false)
  await database.query('INSERT INTO notify.bucket_anchor SELECT generate_series(0, 7)')
  const insert = `INSERT INTO notify.cap (bucket, user_id) SELECT u.bucket, u.user_id
                    FROM unnest($1::smallint[], $2::text[]) AS u (bucket, user_id)`
  const rows = async () => {
    const all = await database.query('SELECT bucket, user_id FROM notify.cap ORDER BY bucket, user_id')
    await database.query('DELETE FROM notify.cap')
    return all.rows
  }
  for (const { scope, items } of groupByBucket({ count: 8, distributed: false }, users, bucketOfUser))
    await database.query(textFor(scope, insert), [bucketsOfUsers(scope, items), items])
  const together = await rows()
  for (const { scope, items } of groupByBucket({ count: 8, distributed: true }, users, bucketOfUser))
    await database.query(textFor(scope, insert), [bucketsOfUsers(scope, items), items])
  assert.equal(together.length, users.length)
  assert.deepEqual(await rows(), together)
})
