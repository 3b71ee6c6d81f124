import type { Query, Rows } from '@gatehouse/kit'
import type { AdmissionUnit } from '../../admission/planned.ts'
import { newIdBeside } from '../../model/id.ts'
import type { Statement } from '../sql/at-once.ts'
import { among } from '../sql/plans.ts'
import { countItemsQuery, findCompleteWindows, removeItems, removeWindows } from '../waiting/windows.ts'

const tables = { scheduled: 'notify.scheduled', deferred: 'notify.deferred' } as const

const thingsOf = (units: readonly AdmissionUnit[]) =>
  units.flatMap(({ settles }) => (settles ? [settles] : [])).sort((a, b) => (a.id < b.id ? -1 : 1))
const idsOf = (units: readonly AdmissionUnit[], kind: keyof typeof tables) =>
  thingsOf(units).flatMap((each) => (each.kind === kind ? [each.id] : []))
const windowsOf = (units: readonly AdmissionUnit[]) =>
  thingsOf(units).flatMap((each) => (each.kind === 'window' ? [each] : []))

/** What tells which of the things that units settle are still there; nothing where none settles any. */
export function settledQueries(bucket: number, units: readonly AdmissionUnit[]): Query[] {
  const windows = windowsOf(units)
  const found = (Object.keys(tables) as Array<keyof typeof tables>).flatMap((kind): Query[] => {
    const ids = idsOf(units, kind)
    const text = `SELECT id FROM ${tables[kind]} WHERE bucket = $1 AND ${among('id', '$2')}`
    return ids.length === 0 ? [] : [{ name: `notify_find_${kind}`, text, values: [bucket, ids] }]
  })
  return [...found, ...(windows.length === 0 ? [] : [countItemsQuery(bucket, windows)])]
}

/** The answers to {@link settledQueries}: for each unit whether it may go on. False when another took its thing first. */
export function settledOf(units: readonly AdmissionUnit[], answers: ReadonlyArray<Rows<object>>): boolean[] {
  const rows = answers.flatMap((answer) => answer.rows) as Array<{ id: string; items?: number }>
  const windows = windowsOf(units)
  const there = new Set(rows.flatMap(({ id, items }) => (items === undefined ? [id] : [])))
  const counts = rows.flatMap(({ id, items }) => (items === undefined ? [] : [{ id, items }]))
  for (const id of findCompleteWindows(windows, counts)) there.add(id)
  return units.map(({ settles }) => settles === undefined || there.delete(settles.id))
}

/** Takes away what the units settle; holds if all of it is still there. */
export function settle(bucket: number, units: readonly AdmissionUnit[], now: number): Statement[] {
  const windows = windowsOf(units)
  const whole = windows.flatMap((each) => (each.items ? [] : [{ ...each, entryId: newIdBeside(each.id) }]))
  const parts = windows.flatMap(({ id, items, keepsTogether = false }) => (items ? [{ id, items, keepsTogether }] : []))
  return [
    ...removeByIds(bucket, 'scheduled', idsOf(units, 'scheduled')),
    ...removeByIds(bucket, 'deferred', idsOf(units, 'deferred')),
    ...(whole.length > 0 ? [removeWindows(bucket, whole, now)] : []),
    ...(parts.length > 0 ? removeItems(bucket, parts) : []),
  ]
}

function removeByIds(bucket: number, kind: keyof typeof tables, ids: readonly string[]): Statement[] {
  if (ids.length === 0) return []
  const text = `WITH removed AS (
                  DELETE FROM ${tables[kind]} WHERE bucket = $1::smallint AND ${among('id', '$2')} RETURNING 1
                ) SELECT count(*) = $3::integer FROM removed`
  return [{ precondition: true, text, values: [bucket, ids, ids.length] }]
}
