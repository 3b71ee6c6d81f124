import type { Queryable } from '@gatehouse/kit'
import { bucketOfId, bucketOfUser } from '../../model/id.ts'
import { columns } from './columns.ts'

/** Into how many buckets the users of a database are divided, and whether an engine spreads those over nodes. */
export interface Buckets {
  readonly count: number
  /** A hot statement then stays within one bucket, so that one node runs it alone. */
  readonly distributed: boolean
}

/** Whose rows a statement is about: of any buckets; or of `bucket` alone, where that is there. */
export interface BucketScope {
  readonly count: number
  readonly bucket?: number
}

/** Items that one transaction handles together. */
export interface BucketGroup<Item> {
  readonly scope: BucketScope
  readonly items: readonly Item[]
}

/** Items as they are handled together: all of them at once, or bucket by bucket, in order, where those are on different nodes. */
export function groupByBucket<Item>(
  { count, distributed }: Buckets,
  items: readonly Item[],
  bucketOf: (item: Item, count: number) => number,
): Array<BucketGroup<Item>> {
  if (items.length === 0) return []
  if (!distributed) return [{ scope: { count }, items }]
  const groups = [...Map.groupBy(items, (item) => bucketOf(item, count))].sort(([a], [b]) => a - b)
  return groups.map(([bucket, own]) => ({ scope: { count, bucket }, items: own }))
}

/** The scope of a statement about one user, or about the user that an id belongs to. */
export function scopeOf({ count, distributed }: Buckets, bucket: number): BucketScope {
  return distributed ? { count, bucket } : { count }
}

/** `$1` of a statement that is written for {@link textFor}: the buckets of its rows, by an id of each. */
export function bucketsOfIds<Item>(
  { count, bucket }: BucketScope,
  rows: readonly Item[],
  idOf: (row: Item) => string,
): string | number {
  return bucket ?? listed(rows, (row) => bucketOfId(idOf(row), count))
}

/** The same, by the user of each. */
export function bucketsOfUsers({ count, bucket }: BucketScope, userIds: readonly string[]): string | number {
  return bucket ?? listed(userIds, (userId) => bucketOfUser(userId, count))
}

function listed<Item>(rows: readonly Item[], bucketOf: (row: Item) => number): string {
  const [buckets = '{}'] = columns(rows, bucketOf)
  return buckets
}

/**
 * The text of a statement for a scope. It is written for rows of any buckets, which carry their own:
 * `unnest($1::smallint[], $2::uuid[]) AS r (bucket, id)`; every table in it is met by `t.bucket = r.bucket`, in this
 * order, or by `t.bucket = ANY (ARRAY[r.bucket])`. For one bucket, `$1` is that bucket: `t.bucket = $1::smallint`, and the rows are `unnest($2::uuid[]) AS r (id)`.
 * Where such a statement inserts `r.bucket`, a distributed engine needs a column to see that the rows stay on their node:
 * the one row of `notify.bucket_anchor` for that bucket.
 */
export function textFor({ bucket }: BucketScope, text: string): string {
  if (bucket === undefined) return text
  const known = ofOneBucket.get(text)
  if (known !== undefined) return known
  const written = writeForOneBucket(text)
  ofOneBucket.set(text, written)
  return written
}

/** The name of a prepared statement whose text is {@link textFor} a scope: a connection knows each name for one text. */
export function nameFor({ bucket }: BucketScope, name: string): string {
  return bucket === undefined ? name : `${name}_of_bucket`
}

/** The texts are few and fixed, and are rewritten once. */
const ofOneBucket = new Map<string, string>()

const rowsOfBuckets = / AS (\w+) \(bucket(?:,\s*([^)]*))?\)/
const bucketsAlone = 'unnest($1::smallint[])'

function writeForOneBucket(text: string): string {
  const [, rows] = rowsOfBuckets.exec(text) ?? []
  if (rows === undefined) throw new Error(`a statement without rows that carry their bucket: ${text}`)
  const compared = text.replace(/= (?:ANY \(ARRAY\[\w+\.bucket\]\)|\w+\.bucket\b)/g, () => '= $1::smallint')
  if (compared.includes(bucketsAlone))
    return compared.replace(bucketsAlone, () => '(SELECT bucket FROM notify.bucket_anchor WHERE bucket = $1::smallint)')
  const own = new RegExp(`\\b${rows}\\.bucket\\b`, 'g')
  const anchor = own.test(compared) ? ' JOIN notify.bucket_anchor AS anchor ON anchor.bucket = $1::smallint' : ''
  return compared
    .replace(/unnest\(\$1::smallint\[\],\s*/, () => 'unnest(')
    .replace(rowsOfBuckets, (_, alias, others) => ` AS ${alias} (${others})${anchor}`)
    .replace(own, () => 'anchor.bucket')
}

/** Whether an engine has spread the tables of users over nodes: Citus, whose catalog says so. */
export async function readDistributed(database: Queryable): Promise<boolean> {
  const known = await database.query<{ known: boolean }>(
    "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS known",
  )
  if (!known.rows[0]?.known) return false
  const { rows } = await database.query<{ distributed: boolean }>(
    `SELECT EXISTS (
       SELECT FROM pg_catalog.pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
        WHERE c.relnamespace = 'notify'::regnamespace AND p.partmethod = 'h') AS distributed`,
  )
  return rows[0]?.distributed ?? false
}
