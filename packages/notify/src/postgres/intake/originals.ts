import type { AdmissionUnit } from '../../admission/planned.ts'
import type { ReadStatement, Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, textFor } from '../sql/buckets.ts'

const withData = `unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)
  CROSS JOIN LATERAL (
    SELECT n.id FROM notify.notification n
     WHERE n.bucket = r.bucket AND n.id = r.id AND n.data IS NOT NULL LIMIT 1) AS found`

const originalsOf = (units: readonly AdmissionUnit[]) => [
  ...new Set(units.flatMap(({ resendOf }) => (resendOf === undefined ? [] : [resendOf]))),
]

/** What tells which of the notifications that units send again still have their data; nothing where none is sent again. */
export function originalsQuery(scope: BucketScope, units: readonly AdmissionUnit[]): ReadStatement[] {
  const ids = originalsOf(units)
  if (ids.length === 0) return []
  const text = textFor(scope, `SELECT found.id FROM ${withData}`)
  return [{ text, values: [bucketsOfIds(scope, ids, (id) => id), ids] }]
}

/**
 * Holds if all of them still do. Nothing is locked for it: an erasure of the user waits for the user's row, and one of the
 * data alone that commits later comes after what is sent again.
 */
export function checkOriginals(scope: BucketScope, units: readonly AdmissionUnit[]): Statement[] {
  const ids = originalsOf(units)
  if (ids.length === 0) return []
  const text = textFor(scope, `SELECT count(*) = $3::integer FROM ${withData}`)
  return [{ precondition: true, text, values: [bucketsOfIds(scope, ids, (id) => id), ids, ids.length] }]
}
