import type { Database } from '@gatehouse/kit'
import type { AdmissionDecision } from '../../admission/admission.ts'
import { bucketOfLink } from '../../links/short-links.ts'
import type { ShortLinks } from '../../store/store.ts'
import { at } from '../nodes/spread-database.ts'
import type { Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, textFor } from '../sql/buckets.ts'
import { columns, timestamp } from '../sql/columns.ts'

/** Short links on PostgreSQL. */
export function postgresShortLinks(database: Database, buckets: number): ShortLinks {
  return {
    async find(id, now) {
      const bucket = bucketOfLink(id, buckets)
      if (bucket === undefined) return undefined
      const { rows } = await at(database, bucket).query<{ delivery_id: string; target: string }>({
        name: 'notify_find_short_link',
        text: 'SELECT delivery_id, target FROM notify.short_link WHERE bucket = $1 AND id = $2 AND expires_at > $3',
        values: [bucket, id, timestamp(now)],
      })
      return rows[0] && { deliveryId: rows[0].delivery_id, target: rows[0].target }
    },
  }
}

/** Writes the links of what is queued, so that they are there before any message goes out; nothing where there are none. */
export function writeShortLinks(scope: BucketScope, decided: readonly AdmissionDecision[]): Statement[] {
  const links = decided.flatMap(({ notification: { userId }, deliveries }) =>
    deliveries.flatMap(({ id, outcome, plan }) => {
      if (outcome !== 'queued' || plan.kind !== 'send' || id === undefined) return []
      return (plan.links ?? []).map((link) => ({ ...link, userId, deliveryId: id }))
    }),
  )
  if (links.length === 0) return []
  return [
    {
      text: textFor(
        scope,
        `INSERT INTO notify.short_link (bucket, id, delivery_id, user_id, target, expires_at)
         SELECT l.bucket, l.id, l.delivery_id, l.user_id, l.target, l.expires_at
           FROM unnest($1::smallint[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::timestamptz[])
                AS l (bucket, id, delivery_id, user_id, target, expires_at)`,
      ),
      values: [
        bucketsOfIds(scope, links, ({ deliveryId }) => deliveryId),
        ...columns(
          links,
          (l) => l.id,
          (l) => l.deliveryId,
          (l) => l.userId,
          (l) => l.target,
          (l) => timestamp(l.expiresAt),
        ),
      ],
    },
  ]
}
