import type { Database } from '@gatehouse/kit'
import { firstIdAt } from '../../model/id.ts'
import type { StateChanges } from '../../store/store.ts'
import { timestamp } from '../sql/columns.ts'
import { createNumberingApart, type NumberInTurn } from './numbering-apart.ts'

/**
 * Rows that were moved stay in the index for as long as an old snapshot may see them, and would be passed over by every
 * look at the outbox. So a look begins with ids made this long before the last one, by then most transactions have
 * committed; those that took longer, or whose machine has another time, are found by a look at all now and then.
 */
const lateMs = 20_000
const lookAtAllEveryMs = 5_000

/** Numbers what waits in the outbox, beginning with another bucket each time. */
export function createNumbering(database: Database, distributed: boolean): StateChanges['number'] {
  const number = distributed ? createNumberingApart(database) : numberTogether(database)
  let calls = 0
  // Ids begin with the time they were made at, as the clock of this machine has it.
  const looks = new Map<number, { readonly at: number; readonly atAllFrom: number }>()
  const sinceOf = (bucket: number, begun: number) => {
    const { at, atAllFrom } = looks.get(bucket) ?? { at: 0, atAllFrom: 0 }
    return firstIdAt(begun >= atAllFrom ? 0 : Math.max(0, at - lateMs))
  }
  return async (buckets, limit, now) => {
    const begun = Date.now()
    const first = calls++ % Math.max(1, buckets.length)
    const inTurn = [...buckets.slice(first), ...buckets.slice(0, first)]
    const numbered = await number(
      inTurn.map((bucket) => ({ bucket, since: sinceOf(bucket, begun) })),
      limit,
      now,
    )
    if (numbered >= limit) return numbered
    for (const bucket of inTurn) {
      const atAllFrom = looks.get(bucket)?.atAllFrom ?? 0
      looks.set(bucket, { at: begun, atAllFrom: begun >= atAllFrom ? begun + lookAtAllEveryMs : atAllFrom })
    }
    return numbered
  }
}

/** All of it in one statement, and one transaction, of one server. */
function numberTogether(database: Database): NumberInTurn {
  return async (looks, limit, now) => {
    const buckets = looks.map(({ bucket }) => bucket)
    const sinces = looks.map(({ since }) => since)
    const { rows } = await database.query<{ numbered: number }>({
      name: 'notify_number_state_changes',
      text: 'SELECT notify.number_state_changes($1, $2, $3, $4) AS numbered',
      values: [buckets, sinces, limit, timestamp(now)],
    })
    return rows[0]?.numbered ?? 0
  }
}
