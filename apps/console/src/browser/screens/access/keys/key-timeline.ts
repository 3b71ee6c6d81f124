import type { SigningKey } from '@gatehouse/client'

/** A part of the life of a key, as a share of what the time line shows: 0 is its left end, 1 its right one. */
export interface Span {
  readonly what: 'published' | 'signing' | 'retiring'
  readonly from: number
  readonly to: number
}

/** A key on the time line of its algorithm. */
export interface KeyLine {
  readonly key: SigningKey
  readonly spans: readonly Span[]
  /** Whether its successor should sign already. */
  readonly isOverdue: boolean
}

/** The keys of an algorithm on one line of time. */
export interface Timeline {
  readonly alg: string
  readonly from: number
  readonly to: number
  /** Where now is, as a share. */
  readonly now: number
  readonly lines: readonly KeyLine[]
}

/** Why no successor was made: what the operator looks at. */
export type OverdueCause = 'unreadable' | 'stopped'

/** The cause of a key that is overdue, as far as its algorithm's keys tell. */
export function overdueCause(keys: readonly SigningKey[]): OverdueCause {
  return keys.some(({ unreadable }) => unreadable === true) ? 'unreadable' : 'stopped'
}

/** The time lines of keys, by algorithm: published, signing, and only verifying until the last token has expired. */
export function timelinesOf(keys: readonly SigningKey[], now: number): Timeline[] {
  return [...Map.groupBy(keys, ({ alg }) => alg)].map(([alg, some]) => {
    const lives = some.map((key) => ({ key, ...lifeOf(key, some, now) }))
    const from = Math.min(now, ...lives.map(({ published }) => published))
    const to = Math.max(now, ...lives.map(({ ends }) => ends))
    const share = (time: number) => (time - from) / Math.max(1, to - from)
    const lines = lives.map(({ key, published, signs, retires, ends }) => {
      const spans = [
        { what: 'published', from: share(published), to: share(signs) },
        { what: 'signing', from: share(signs), to: share(retires) },
        { what: 'retiring', from: share(retires), to: share(ends) },
      ] as const
      const isOverdue = key.due_at !== undefined && Date.parse(key.due_at) < now
      return { key, spans: spans.filter((span) => span.to > span.from), isOverdue }
    })
    return { alg, from, to, now: share(now), lines }
  })
}

interface Life {
  readonly published: number
  readonly signs: number
  readonly retires: number
  readonly ends: number
}

/** A key signs until the next one does, and is published until its last token has expired. */
function lifeOf(key: SigningKey, all: readonly SigningKey[], now: number): Life {
  const [published, signs] = [Date.parse(key.created_at), Date.parse(key.activates_at)]
  const later = all.map((other) => Date.parse(other.activates_at)).filter((time) => time > signs)
  const due = key.due_at === undefined ? now : Math.max(now, Date.parse(key.due_at))
  const retires = later.length > 0 ? Math.min(...later) : Math.max(signs, due)
  const ends = key.expires_at === undefined ? retires : Date.parse(key.expires_at)
  return { published: Math.min(published, signs), signs, retires, ends: Math.max(retires, ends) }
}
