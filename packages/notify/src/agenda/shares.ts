/** The buckets of a database, and what is known of who works in which. */
export interface Shares {
  /** How many buckets there are. */
  readonly count: number
  /** The processes that live. */
  readonly processes: readonly string[]
  /** Of each bucket that belongs to a process that lives, which one that is. */
  readonly owners: ReadonlyMap<number, string>
}

/**
 * How buckets are divided among processes: each gets as many as any other, or one more. Whoever has too many gives up the
 * last of them, and nothing else moves. All processes that know the same come to the same. Undefined where there are fewer
 * buckets than processes: all share all then.
 */
export function divideBuckets({ count, processes, owners }: Shares): ReadonlyMap<number, string> | undefined {
  const living = [...new Set(processes)].sort()
  if (living.length > count) return undefined
  const owned = new Map(living.map((process): [string, number[]] => [process, []]))
  const free: number[] = []
  for (let bucket = 0; bucket < count; bucket++) (owned.get(owners.get(bucket) ?? '') ?? free).push(bucket)
  const shares = shareSizes(count, living, owned)
  for (const [process, mine] of owned) free.push(...mine.splice(shares.get(process) ?? 0))
  free.sort((a, b) => a - b)
  for (const [process, mine] of owned) mine.push(...free.splice(0, (shares.get(process) ?? 0) - mine.length))
  return new Map([...owned].flatMap(([process, mine]) => mine.map((bucket): [number, string] => [bucket, process])))
}

/**
 * One more goes to those who have it already, so that the fewest move. How much more does not count: somebody who is about
 * to give up many would get it for as long as that takes, and the others would give up one too many meanwhile.
 */
function shareSizes(
  count: number,
  living: readonly string[],
  owned: ReadonlyMap<string, readonly number[]>,
): ReadonlyMap<string, number> {
  const base = Math.floor(count / living.length)
  const size = (process: string) => Math.min(owned.get(process)?.length ?? 0, base + 1)
  const bySize = living.toSorted((a, b) => size(b) - size(a) || (a < b ? -1 : 1))
  const larger = count % living.length
  return new Map(bySize.map((process, place) => [process, base + (place < larger ? 1 : 0)]))
}

/** Consecutive buckets, first and last. */
export type BucketRange = readonly [first: number, last: number]

/** Buckets as the ranges that they form. */
export function rangesOf(buckets: readonly number[]): BucketRange[] {
  const ranges: Array<[number, number]> = []
  for (const bucket of buckets.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last && bucket === last[1] + 1) last[1] = bucket
    else ranges.push([bucket, bucket])
  }
  return ranges
}
