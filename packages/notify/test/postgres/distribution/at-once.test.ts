import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { type CitusServer, createCitusDatabase, startCitus, testWith } from '@gatehouse/testing'
import { distributeNotify } from '../../../src/postgres/index.ts'
import { readAtOnce, runAtOnce } from '../../../src/postgres/sql/at-once.ts'

const bucket = 7

const adding = (userId: string) => ({
  text: `INSERT INTO notify.cap (bucket, user_id) SELECT anchor.bucket, u.user_id
           FROM unnest($2::text[]) AS u (user_id) JOIN notify.bucket_anchor AS anchor ON anchor.bucket = $1::smallint`,
  values: [bucket, [userId]],
})

const users = {
  text: 'SELECT c.user_id FROM notify.cap c WHERE c.bucket = $1::smallint ORDER BY c.user_id',
  values: [bucket],
}

/** Holds where the connection keeps a statement that names a shard of the table. */
const isOnShard = {
  precondition: true as const,
  text: "SELECT count(*) > 0 FROM pg_prepared_statements WHERE statement ~ 'INTO notify[.]cap_[0-9]+ ' AND $1::smallint > 0",
  values: [bucket],
}

async function readUsers(database: Database): Promise<unknown[]> {
  const [answer] = await readAtOnce(database, { bucket }, [users])
  return answer?.rows.flatMap(Object.values) ?? []
}

describe('what runs at once in a distributed bucket', () => {
  let citus: CitusServer | undefined
  before(async () => {
    citus = await startCitus({ settings: ['citus.shard_count=4'] }).catch(() => undefined)
  })
  after(() => citus?.stop())

  testWith('citus', 'is run on its shards, and on the node that they were moved to', async () => {
    const url = await createCitusDatabase(citus?.nodes ?? assert.fail('Citus did not start'))
    const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 1 })
    try {
      await distributeNotify(database, { buckets: 32 })
      assert.equal(await runAtOnce(database, [adding('first'), isOnShard], { bucket }), undefined)
      await database.query(
        `SELECT citus_move_shard_placement(p.shardid, from_node.nodename, from_node.nodeport, to_node.nodename, to_node.nodeport, 'block_writes')
           FROM pg_dist_placement p JOIN pg_dist_node from_node ON from_node.groupid = p.groupid
           JOIN pg_dist_node to_node ON to_node.groupid NOT IN (0, p.groupid)
          WHERE p.shardid = get_shard_id_for_distribution_column('notify.cap', $1::smallint)`,
        [bucket],
      )
      assert.equal(await runAtOnce(database, [adding('second'), isOnShard], { bucket }), undefined)
      assert.deepEqual(await readUsers(database), ['first', 'second'])
      const { rows } = await database.query('SELECT user_id FROM notify.cap WHERE bucket = $1 ORDER BY user_id', [
        bucket,
      ])
      assert.deepEqual(rows.flatMap(Object.values), ['first', 'second'], 'the engine sees the same')
    } finally {
      await database.close()
    }
  })
})
