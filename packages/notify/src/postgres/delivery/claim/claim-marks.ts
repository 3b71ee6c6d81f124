/** A place in the order in which rows of one priority and event type are due. */
export interface Place {
  /** Unix milliseconds. */
  readonly dueAt: number
  readonly id: string
}

/** The rows of one priority and event type. */
export interface GroupKey {
  readonly priority: number
  readonly event: string
}

/** A group, and the place before which nothing in it was left to claim. */
export interface Mark extends GroupKey {
  readonly place: Place
}

/** What a claim came upon. */
export interface ClaimSeen {
  /** The groups with a row, or a mark, and when the first row from there on is due. */
  readonly groups: ReadonlyArray<GroupKey & { readonly front: number | null }>
  readonly claimed: ReadonlyArray<GroupKey & Place>
  /** Whether the claim read much for what it got; only those that read all of the index know. */
  readonly isCrowded?: boolean
}

/** From where a claim reads the index: from its beginning, or each group from its mark. */
export type ClaimRange = 'all' | readonly Mark[]

/** A claim under way. */
export interface ClaimBegun {
  readonly range: ClaimRange
  /** For its end; left out where it failed. */
  end(seen?: ClaimSeen): void
}

/** Where the claims of one bucket and channel go on. */
export interface ClaimMarks {
  begin(now: number): ClaimBegun
  /** Rows of an event type became claimable, the first of them at `place`. */
  lower(event: string, place: Place): void
}

/** Before every id. */
const noId = '00000000-0000-0000-0000-000000000000'

/** The place before all rows that are due at a time (Unix milliseconds). */
export function placeAt(dueAt: number): Place {
  return { dueAt, id: noId }
}

/**
 * How often a claim reads again what lies before the marks, and how far back, in milliseconds. A row that became claimable
 * up to `everyMs` behind its group's mark is found after at most `everyMs`: one whose lease of a minute ended, within a
 * minute. The last one finds every row. Every delivery is read twice or three times by each of the others, so that they
 * cost the same however long the old snapshot lasts.
 */
const looksBack = [
  { everyMs: 1_000, reachMs: 2_000 },
  { everyMs: 10_000, reachMs: 20_000 },
  { everyMs: 60_000, reachMs: 180_000 },
  { everyMs: 300_000, reachMs: Number.POSITIVE_INFINITY },
] as const

/** A claim that reads more entries than these, for each bucket and for each row it gets, goes through what is dead. */
const usualEntries = 504
const usualEntriesPerBucket = 8
const usualEntriesPerRow = 4

/** Whether a claim that read all of the index read so many entries that most of them must have been dead. */
export function readsMuch(entriesRead: number, buckets: number, rows: number): boolean {
  return entriesRead > usualEntries + buckets * usualEntriesPerBucket + rows * usualEntriesPerRow
}

/**
 * An open snapshot (a backup, an analyst) keeps the index entries of all rows that are done with, and each claim that
 * begins at the beginning reads them all. So claims watch what they read: as long as that is little they read everything,
 * as if there were no marks. When it is much they go on where the last one left off, group by group.
 */
export function createClaimMarks(): ClaimMarks {
  return new Marks()
}

class Marks implements ClaimMarks {
  #marks = new Map<string, Mark>()
  #isCrowded = false
  #latest = Number.NEGATIVE_INFINITY
  #lookedAt: readonly number[] = looksBack.map(() => Number.NEGATIVE_INFINITY)
  #underWay = 0
  #lowered: Array<{ readonly event: string; readonly place: Place }> = []

  begin(now: number): ClaimBegun {
    const range = this.#rangeAt(now)
    const sinceThen = this.#lowered.length
    this.#underWay++
    return {
      range,
      end: (seen) => {
        if (seen) {
          this.#update(range, now, seen)
          for (const { event, place } of this.#lowered.slice(sinceThen)) this.#lower(event, place)
        }
        this.#underWay--
        if (this.#underWay === 0) this.#lowered = []
      },
    }
  }

  lower(event: string, place: Place): void {
    this.#lower(event, place)
    if (this.#underWay > 0) this.#lowered.push({ event, place })
  }

  #reachAt(now: number): number {
    if (!this.#isCrowded || now < this.#latest) return Number.POSITIVE_INFINITY
    return Math.max(
      0,
      ...looksBack.map(({ everyMs, reachMs }, n) => (now - (this.#lookedAt[n] ?? 0) >= everyMs ? reachMs : 0)),
    )
  }

  #rangeAt(now: number): ClaimRange {
    const reach = this.#reachAt(now)
    this.#latest = now
    this.#lookedAt = this.#lookedAt.map((at, n) => ((looksBack[n]?.reachMs ?? 0) <= reach ? now : at))
    if (reach === Number.POSITIVE_INFINITY) return 'all'
    const own = [...this.#marks.values()]
    return reach === 0 ? own : own.map((mark) => ({ ...mark, place: placeAt(mark.place.dueAt - reach) }))
  }

  #lower(event: string, place: Place): void {
    for (const [key, mark] of this.#marks)
      if (mark.event === event && isBefore(place, mark.place)) this.#marks.set(key, { ...mark, place })
  }

  #update(range: ClaimRange, now: number, seen: ClaimSeen): void {
    if (range === 'all') {
      this.#isCrowded = seen.isCrowded ?? false
      if (!this.#isCrowded) this.#marks = new Map()
    }
    for (const mark of marksAfter(seen, now)) this.#marks.set(keyOf(mark), mark)
  }
}

/**
 * The marks that a claim leaves: on the last row it got of a group, past those that others hold; of a group it got nothing
 * of, on the first row there is, or the time of the claim.
 */
function marksAfter({ groups, claimed }: ClaimSeen, now: number): Mark[] {
  const got = Map.groupBy(claimed, keyOf)
  return groups.map(({ priority, event, front }) => {
    const [first, ...others] = got.get(keyOf({ priority, event })) ?? []
    if (!first) return { priority, event, place: placeAt(Math.min(front ?? now, now)) }
    const last = others.reduce((latest, each) => (isBefore(latest, each) ? each : latest), first)
    return { priority, event, place: { dueAt: last.dueAt, id: last.id } }
  })
}

function keyOf({ priority, event }: GroupKey): string {
  return `${priority} ${event}`
}

function isBefore(a: Place, b: Place): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.id < b.id)
}
