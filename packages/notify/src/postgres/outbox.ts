import type { Database } from '@gatehouse/kit'
import type { Outbox } from '../store.ts'
import type { StreamedEvent } from '../topic.ts'
import { among, atMost, queryAfresh } from './words.ts'

const claimSql = `
WITH waiting AS MATERIALIZED (
  SELECT id FROM notify.outbox WHERE bucket = $1 AND (lease_until IS NULL OR lease_until < now())
   ORDER BY id ${atMost('$2')} FOR UPDATE SKIP LOCKED
)
UPDATE notify.outbox o SET lease_until = now() + $3::integer * interval '1 millisecond'
 WHERE o.bucket = $1 AND o.id = ANY (ARRAY(SELECT id FROM waiting))
RETURNING o.id, o.payload`

export function postgresOutbox(database: Database): Outbox {
  return {
    async claim(bucket, limit, leaseMs) {
      const { rows } = await queryAfresh<StreamedEvent>(database, {
        name: 'notify_claim_outbox',
        text: claimSql,
        values: [bucket, limit, leaseMs],
      })
      return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
    },
    async release(bucket, ids) {
      await database.query(`UPDATE notify.outbox SET lease_until = NULL WHERE bucket = $1 AND ${among('id', '$2')}`, [
        bucket,
        ids,
      ])
    },
    async remove(bucket, ids) {
      await database.query(`DELETE FROM notify.outbox WHERE bucket = $1 AND ${among('id', '$2')}`, [bucket, ids])
    },
  }
}
