import type { SearchBounds } from '../../store/store.ts'

/** Where a look at a bucket begins: rows with smaller ids. */
export interface Position {
  readonly bucket: number
  readonly before: string
}

/** What a look at a bucket found. */
export interface Looked {
  readonly bucket: number
  /** The smallest id that was looked at. */
  readonly last: string
  /** How many rows were looked at: fewer than were allowed where there are no more. */
  readonly count: number
  readonly matches: readonly string[]
}

/** Looks at up to `rows` rows of each bucket; those that have none are left out of the result. */
export type Look = (positions: readonly Position[], rows: number) => Promise<readonly Looked[]>

/** A part of a walk: the ids that match, the greatest first. */
export interface Step {
  readonly ids: readonly string[]
  /** The smallest id up to which all buckets were looked at; undefined at the end. */
  readonly through: string | undefined
}

/** What a walk needs. */
export interface WalkOptions extends SearchBounds {
  readonly buckets: readonly number[]
  readonly before: string
  /** How many rows it looks at first: about as many as are wanted. */
  readonly firstRows: number
  readonly look: Look
}

const maxRowsAtOnce = 4_000
const minRowsOfBucket = 10
/** A look that took longer is followed by a smaller one, so that the time of a walk is not exceeded by much. */
const slowLookMs = 50

/**
 * Walks back in time through the rows of all buckets, in the order of their ids, until its reader has enough, or its bounds
 * are reached. Each round looks at the half of the buckets that is the least far back, so that none of them is looked at
 * much further than the others, however unevenly rows are spread.
 */
export async function* walkBack({
  buckets,
  before,
  firstRows,
  look,
  maxRows,
  maxMs,
}: WalkOptions): AsyncGenerator<Step> {
  const begunAt = performance.now()
  const positions = new Map(buckets.map((bucket) => [bucket, before]))
  let found: string[] = []
  let rowsLeft = maxRows
  let size = firstRows
  do {
    const behind = furthestBehind(positions)
    const rows = Math.max(minRowsOfBucket, Math.ceil(Math.min(size, rowsLeft) / behind.length))
    const lookedAt = performance.now()
    const looked = new Map((await look(behind, rows)).map((each) => [each.bucket, each]))
    size = Math.min(maxRowsAtOnce, performance.now() - lookedAt > slowLookMs ? size / 2 : size * 2)
    for (const { bucket } of behind) {
      const { count = 0, last = '', matches = [] } = looked.get(bucket) ?? {}
      rowsLeft -= count
      found.push(...matches)
      if (count < rows) positions.delete(bucket)
      else positions.set(bucket, last)
    }
    const through = [...positions.values()].reduce<string | undefined>(
      (a, b) => (a === undefined || b > a ? b : a),
      undefined,
    )
    const ids = found.filter((id) => through === undefined || id >= through).sort(descending)
    found = found.filter((id) => through !== undefined && id < through)
    yield { ids, through }
  } while (positions.size > 0 && rowsLeft > 0 && performance.now() - begunAt < maxMs)
}

/** The half of the positions whose rows are the newest, and those that are as far. */
function furthestBehind(positions: ReadonlyMap<number, string>): Position[] {
  const sorted = [...positions].sort(([, a], [, b]) => descending(a, b))
  const [, median = ''] = sorted[Math.ceil(sorted.length / 2) - 1] ?? []
  return sorted.filter(([, before]) => before >= median).map(([bucket, before]) => ({ bucket, before }))
}

const descending = (a: string, b: string) => (a > b ? -1 : a < b ? 1 : 0)
