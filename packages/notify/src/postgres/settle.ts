import type { Transaction } from '@gatehouse/kit'
import type { AdmissionUnit } from '../admission.ts'
import { newId } from '../ids.ts'
import { takeItems, takeWindows } from './windows.ts'
import { among } from './words.ts'

const tables = { scheduled: 'notify.scheduled', deferral: 'notify.deferral' } as const

/**
 * Takes away what the units settle. The answer says for each unit whether it may go on: false when another took its
 * thing first, or it was cancelled.
 */
export async function settle(
  tx: Transaction,
  bucket: number,
  units: readonly AdmissionUnit[],
  now: number,
): Promise<boolean[]> {
  const things = units.flatMap(({ settles }) => (settles ? [settles] : [])).sort((a, b) => (a.id < b.id ? -1 : 1))
  const windows = things.flatMap((each) => (each.kind === 'window' ? [each] : []))
  const idsOf = (kind: keyof typeof tables) => things.filter((each) => each.kind === kind).map(({ id }) => id)
  const answers = await Promise.all([
    take(tx, bucket, 'scheduled', idsOf('scheduled')),
    take(tx, bucket, 'deferral', idsOf('deferral')),
    takeWindows(
      tx,
      bucket,
      windows.flatMap((each) => (each.items ? [] : [{ ...each, eventId: newId(bucket) }])),
      now,
    ),
    takeItems(
      tx,
      bucket,
      windows.flatMap(({ id, items, keepsTogether = false }) => (items ? [{ id, items, keepsTogether }] : [])),
    ),
  ])
  const taken = new Set(answers.flat())
  return units.map(({ settles }) => settles === undefined || taken.delete(settles.id))
}

async function take(
  tx: Transaction,
  bucket: number,
  kind: keyof typeof tables,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return []
  const { rows } = await tx.query<{ id: string }>({
    name: `notify_settle_${kind}`,
    text: `DELETE FROM ${tables[kind]} WHERE bucket = $1 AND ${among('id', '$2')} RETURNING id`,
    values: [bucket, ids],
  })
  return rows.map(({ id }) => id)
}
