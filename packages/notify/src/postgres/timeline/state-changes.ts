import type { Database } from '@gatehouse/kit'
import type { DeliveryState } from '../../model/delivery/delivery-state.ts'
import { channelDigitOf } from '../../model/id.ts'
import { formatChange } from '../../model/notification/state-change.ts'
import type { ChangeFilter, LoggedChange, LogPositions, StateChanges } from '../../store/store.ts'
import { queries } from '../queries/index.ts'
import { timestamp } from '../sql/columns.ts'
import { createNumbering } from './numbering.ts'

/** Changes that a read with a filter looks at, when few of them match. */
const maxScanned = 5_000

const positionsSql = `
SELECT max(sequence) FILTER (WHERE name = 'last') AS last,
       max(sequence) FILTER (WHERE name = 'removed') AS removed,
       max(sequence) FILTER (WHERE name = 'published') AS published
  FROM notify.state_change_position`

const firstSql = `
SELECT recorded_at FROM notify.state_change
 WHERE sequence > (SELECT sequence FROM notify.state_change_position WHERE name = 'removed') ORDER BY sequence LIMIT 1`

/** A change with the positions; without a change it has nulls. */
interface FoundRow extends LogPositions {
  /** The last number that was looked at. */
  readonly through: number
  readonly sequence: number | null
  readonly id: string
  readonly delivery_id: string
  readonly at: number
  readonly user_id: string
  readonly event: string | null
  readonly state: DeliveryState
  readonly ended: string | null
}

/** A lease that would end later than it can was written before the database's clock went back: it counts as over. */
const acquireSql = `
UPDATE notify.state_change_position SET holder = $1, lease_until = now() + $2::integer * interval '1 millisecond'
 WHERE name = 'published'
   AND (holder = $1 OR lease_until IS NULL OR lease_until <= now()
        OR lease_until > now() + 2 * $2::integer * interval '1 millisecond') RETURNING sequence`

const recordPublishedSql = `
UPDATE notify.state_change_position
   SET sequence = greatest(sequence, $2),
       lease_until = CASE WHEN holder = $1 THEN now() + $3::integer * interval '1 millisecond' ELSE lease_until END
 WHERE name = 'published'`

/** The log of state changes on PostgreSQL; `distributed` where the outbox is on other nodes than the log. */
export function postgresStateChanges(database: Database, distributed: boolean): StateChanges {
  return {
    number: createNumbering(database, distributed),
    positions: () => positions(database),
    async read(after, limit, filter) {
      const scan = isEmpty(filter) ? limit : maxScanned
      const { event = null, state = null, channel } = filter
      const values = [after, scan, limit, event, state, channel === undefined ? null : channelDigitOf(channel)]
      const { rows } = await database.query<FoundRow>(queries['timeline/read-state-changes'], values)
      return pageOf(rows, after, limit)
    },
    async acquire(holder, leaseMs) {
      const { rows } = await database.query<{ sequence: number }>(acquireSql, [holder, leaseMs])
      return rows[0]?.sequence
    },
    async recordPublished(holder, through, leaseMs) {
      await database.query(recordPublishedSql, [holder, through, leaseMs])
    },
    purge: (before, onlyPublished, limit) => purge(database, [before, onlyPublished, limit]),
  }
}

async function purge(
  database: Database,
  [before, onlyPublished, limit]: Parameters<StateChanges['purge']>,
): Promise<number> {
  const { rows } = await database.query<{ recorded_at: number }>(firstSql)
  if (!rows[0] || rows[0].recorded_at >= before) return 0
  const values = [timestamp(before), onlyPublished, limit]
  return database.transaction(async (tx) => {
    const [, purged] = await Promise.all([
      tx.query("SELECT FROM notify.state_change_position WHERE name = 'removed' FOR UPDATE"),
      tx.query<{ removed: number }>(queries['timeline/purge-state-changes'], values),
    ])
    return purged.rows[0]?.removed ?? 0
  })
}

async function positions(database: Database): Promise<LogPositions> {
  const { rows } = await database.query<LogPositions>(positionsSql)
  return rows[0] ?? { last: 0, removed: 0, published: 0 }
}

const isEmpty = ({ event, state, channel }: ChangeFilter) =>
  event === undefined && state === undefined && channel === undefined

function changeOf(row: FoundRow): LoggedChange[] {
  const { sequence, id, delivery_id: deliveryId, user_id: userId, event, state, ended, at } = row
  if (sequence === null) return []
  const change = { deliveryId, userId, event: event ?? undefined, state, ended: ended ?? undefined, at }
  return [{ sequence, id, payload: formatChange(change) }]
}

function pageOf(rows: readonly FoundRow[], after: number, limit: number) {
  const { last = 0, removed = 0, published = 0, through = 0 } = rows[0] ?? {}
  const changes = rows.flatMap(changeOf)
  const reached = changes.length === limit ? changes.at(-1)?.sequence : through
  return { last, removed, published, changes, through: Math.max(after, reached ?? after) }
}
