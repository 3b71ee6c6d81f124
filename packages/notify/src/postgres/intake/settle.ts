import type { Rows } from '@gatehouse/kit'
import type { AdmissionUnit } from '../../admission/planned.ts'
import { newIdBeside } from '../../model/id.ts'
import type { ReadStatement, Statement } from '../sql/at-once.ts'
import { type BucketScope, bucketsOfIds, textFor } from '../sql/buckets.ts'
import { timestamp } from '../sql/columns.ts'
import { countItemsQuery, findCompleteWindows, removeItems, removeWindows } from '../waiting/windows.ts'

const tables = { scheduled: 'notify.scheduled', deferred: 'notify.deferred' } as const
/**
 * When each is due. Whoever claimed a scheduled event may stand still until after its lease, and somebody move it meanwhile:
 * it is not there any more until it is due again.
 */
const dueAt = { scheduled: 't.fire_at', deferred: 't.resume_at' } as const

const thingsOf = (units: readonly AdmissionUnit[]) =>
  units.flatMap(({ settles }) => (settles ? [settles] : [])).sort((a, b) => (a.id < b.id ? -1 : 1))
const idsOf = (units: readonly AdmissionUnit[], kind: keyof typeof tables) =>
  thingsOf(units).flatMap((each) => (each.kind === kind ? [each.id] : []))
const windowsOf = (units: readonly AdmissionUnit[]) =>
  thingsOf(units).flatMap((each) => (each.kind === 'window' ? [each] : []))

/** What tells which of the things that units settle are still there; nothing where none settles any. */
export function settledQueries(scope: BucketScope, units: readonly AdmissionUnit[], now: number): ReadStatement[] {
  const windows = windowsOf(units)
  const found = (Object.keys(tables) as Array<keyof typeof tables>).flatMap((kind): ReadStatement[] => {
    const ids = idsOf(units, kind)
    const text = `SELECT found.id FROM unnest($1::smallint[], $2::uuid[]) AS k (bucket, id)
                   CROSS JOIN LATERAL (
                     SELECT t.id FROM ${tables[kind]} t
                      WHERE t.bucket = k.bucket AND t.id = k.id AND ${dueAt[kind]} <= $3::timestamptz LIMIT 1) AS found`
    const values = [bucketsOfIds(scope, ids, (id) => id), ids, timestamp(now)]
    return ids.length === 0 ? [] : [{ text: textFor(scope, text), values }]
  })
  return [...found, ...(windows.length === 0 ? [] : [countItemsQuery(scope, windows)])]
}

/** The answers to {@link settledQueries}: for each unit whether it may go on. False when another took its thing first. */
export function settledOf(
  units: readonly AdmissionUnit[],
  answers: ReadonlyArray<Pick<Rows<object>, 'rows'>>,
): boolean[] {
  const rows = answers.flatMap((answer) => answer.rows) as Array<{ id: string; items?: number }>
  const windows = windowsOf(units)
  const there = new Set(rows.flatMap(({ id, items }) => (items === undefined ? [id] : [])))
  const counts = rows.flatMap(({ id, items }) => (items === undefined ? [] : [{ id, items }]))
  for (const id of findCompleteWindows(windows, counts)) there.add(id)
  return units.map(({ settles }) => settles === undefined || there.delete(settles.id))
}

/** Takes away what the units settle; holds if all of it is still there. */
export function settle(scope: BucketScope, units: readonly AdmissionUnit[], now: number): Statement[] {
  const windows = windowsOf(units)
  const whole = windows.flatMap((each) => (each.items ? [] : [{ ...each, entryId: newIdBeside(each.id) }]))
  const parts = windows.flatMap(({ id, items, keepsTogether = false }) => (items ? [{ id, items, keepsTogether }] : []))
  return [
    ...removeByIds(scope, 'scheduled', idsOf(units, 'scheduled'), now),
    ...removeByIds(scope, 'deferred', idsOf(units, 'deferred'), now),
    ...(whole.length > 0 ? [removeWindows(scope, whole, now)] : []),
    ...(parts.length > 0 ? removeItems(scope, parts) : []),
  ]
}

function removeByIds(scope: BucketScope, kind: keyof typeof tables, ids: readonly string[], now: number): Statement[] {
  if (ids.length === 0) return []
  const text = `WITH removed AS (
                  DELETE FROM ${tables[kind]} t USING unnest($1::smallint[], $2::uuid[]) AS k (bucket, id)
                   WHERE t.bucket = k.bucket AND t.id = k.id AND ${dueAt[kind]} <= $3::timestamptz RETURNING 1
                ) SELECT count(*) = $4::integer FROM removed`
  const values = [bucketsOfIds(scope, ids, (id) => id), ids, timestamp(now), ids.length]
  return [{ precondition: true, text: textFor(scope, text), values }]
}
