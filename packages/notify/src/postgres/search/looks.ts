import type { Database } from '@gatehouse/kit'
import { lastDeliveryId, notificationIdOf } from '../../model/id.ts'
import { type BucketScope, type Buckets, textFor } from '../sql/buckets.ts'
import { columns } from '../sql/columns.ts'
import { queryByIndex } from '../sql/index-plans.ts'
import type { Conditions } from './conditions.ts'
import type { Look, Looked, Position } from './walk.ts'

/** A table whose rows are walked by id, and what is compared of them. */
export interface WalkedTable {
  readonly name: 'notification' | 'delivery'
  readonly columns: string
}

/** The number of the first parameter of the conditions. */
export const firstOfConditions = 5

interface LookRow {
  readonly bucket: number
  readonly id: string
  /** Of the row that sums up a bucket how many were looked at; null of those that match. */
  readonly count: number | null
}

const concurrentBuckets = 4

/** Looks at rows with ids from `since` on. One statement for all buckets, or one for each where they are on several nodes. */
export function createLook(
  database: Database,
  { count, distributed }: Buckets,
  table: WalkedTable,
  { since, conditions }: { readonly since: string; readonly conditions: Conditions },
): Look {
  const lookAt = async (scope: BucketScope, positions: readonly Position[], rows: number): Promise<Looked[]> => {
    const [buckets = '', before = ''] = columns(
      positions,
      (each) => each.bucket,
      (each) => each.before,
    )
    const values = [scope.bucket ?? buckets, before, since, rows, ...conditions.values]
    const query = { text: textFor(scope, lookSql(table, conditions)), values }
    return lookedOf((await queryByIndex<LookRow>(database, scope, query)).rows)
  }
  return async (positions, rows) => {
    if (!distributed) return lookAt({ count }, positions, rows)
    const looked: Looked[] = []
    for (let n = 0; n < positions.length; n += concurrentBuckets) {
      const some = positions.slice(n, n + concurrentBuckets)
      const looks = some.map((each) => lookAt({ count, bucket: each.bucket }, [each], rows))
      looked.push(...(await Promise.all(looks)).flat())
    }
    return looked
  }
}

/**
 * Looks at deliveries for the notifications that they belong to. A look comes to the end of a notification: one of which
 * there may be more deliveries is left to the next look, so that none is found twice.
 */
export function ofNotifications(look: Look): Look {
  return async (positions, rows) => {
    const looked = await look(positions, rows)
    return looked.map(({ bucket, count, last, matches }) => {
      const from = count < rows ? last : lastDeliveryId(last)
      const found = matches.filter((id) => id >= from).map(notificationIdOf)
      return { bucket, count, last: from, matches: [...new Set(found)] }
    })
  }
}

/** The table's rows are limited before any condition: what is looked at is counted, whatever matches. */
function lookSql({ name, columns: compared }: WalkedTable, { text }: Conditions): string {
  return `
WITH looked AS MATERIALIZED (
  SELECT rows.* FROM unnest($1::smallint[], $2::uuid[]) AS b (bucket, before) CROSS JOIN LATERAL (
    SELECT ${compared} FROM notify.${name} n
     WHERE n.bucket = b.bucket AND n.id < b.before AND n.id >= $3::uuid ORDER BY n.id DESC LIMIT $4::integer) AS rows
)
SELECT n.bucket, n.id, NULL::integer AS count FROM looked n WHERE ${text}
UNION ALL
SELECT n.bucket, (array_agg(n.id ORDER BY n.id))[1], count(*)::integer FROM looked n GROUP BY n.bucket`
}

function lookedOf(rows: readonly LookRow[]): Looked[] {
  const matches = Map.groupBy(
    rows.filter(({ count }) => count === null),
    ({ bucket }) => bucket,
  )
  return rows.flatMap(({ bucket, id, count }) =>
    count === null ? [] : [{ bucket, last: id, count, matches: (matches.get(bucket) ?? []).map((each) => each.id) }],
  )
}
