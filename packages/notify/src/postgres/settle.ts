import type { Transaction } from '@gatehouse/kit'
import type { AdmissionUnit, Settled } from '../admission.ts'
import { among } from './words.ts'

const taking: Readonly<Record<Settled['kind'], string>> = {
  scheduled: `DELETE FROM notify.scheduled WHERE bucket = $1 AND ${among('id', '$2')} RETURNING id`,
  deferral: `DELETE FROM notify.deferral WHERE bucket = $1 AND ${among('id', '$2')} RETURNING id`,
  window: `WITH taken AS (
             DELETE FROM notify.pending_window WHERE bucket = $1 AND ${among('id', '$2')} AND state = 'closed' RETURNING id
           ), emptied AS (
             DELETE FROM notify.pending_item WHERE bucket = $1 AND window_id = ANY (ARRAY(SELECT id FROM taken))
           ) SELECT id FROM taken`,
}

/**
 * Takes away what the units settle. The answer says for each unit whether it may go on: false when another took its
 * thing first, or it was cancelled.
 */
export async function settle(tx: Transaction, bucket: number, units: readonly AdmissionUnit[]): Promise<boolean[]> {
  const kinds = Object.keys(taking) as Array<Settled['kind']>
  const answers = await Promise.all(kinds.map((kind) => take(tx, bucket, kind, units)))
  const taken = new Set(answers.flat())
  return units.map(({ settles }) => settles === undefined || taken.delete(settles.id))
}

async function take(
  tx: Transaction,
  bucket: number,
  kind: Settled['kind'],
  units: readonly AdmissionUnit[],
): Promise<string[]> {
  const ids = units.flatMap(({ settles }) => (settles?.kind === kind ? [settles.id] : [])).sort()
  if (ids.length === 0) return []
  const { rows } = await tx.query<{ id: string }>({
    name: `notify_settle_${kind}`,
    text: taking[kind],
    values: [bucket, ids],
  })
  return rows.map(({ id }) => id)
}
