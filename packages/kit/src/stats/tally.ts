/** What a count is about, by name: closed sets alone, and nothing that tells of a person. */
export type StatLabels = Readonly<Record<string, string>>

/** How often something was counted. */
export interface StatCount {
  readonly measure: string
  readonly labels: StatLabels
  readonly value: number
}

/** Counts in memory between two writes. */
export interface Tally {
  add(measure: string, labels: StatLabels, value?: number): void
  /** What was counted since the last call, and since when (Unix milliseconds). */
  take(now: number): { readonly since: number; readonly counts: readonly StatCount[] }
  /** The same without taking it. */
  peek(): readonly StatCount[]
}

/** The value of a label beyond what a tally has room for. */
export const otherLabel = 'other'

const maxCombinations = 4_000

/**
 * Creates a tally. It grows to `max` combinations of labels; what comes then is counted with every label as `other`, so
 * that no sum is wrong and nothing grows.
 */
export function createTally(startedAt: number, max: number = maxCombinations): Tally {
  let counts = new Map<string, { measure: string; labels: StatLabels; value: number }>()
  let since = startedAt
  const peek = () => [...counts.values()].map((count) => ({ ...count }))
  return {
    add(measure, labels, value = 1) {
      const key = keyOf(measure, labels)
      const known = counts.get(key)
      if (known !== undefined) known.value += value
      else if (counts.size < max || isRest(labels)) counts.set(key, { measure, labels, value })
      else this.add(measure, restOf(labels), value)
    },
    take(now) {
      const result = { since, counts: peek() }
      counts = new Map()
      since = now
      return result
    },
    peek,
  }
}

function keyOf(measure: string, labels: StatLabels): string {
  let key = measure
  for (const name in labels) key += `\n${labels[name]}`
  return key
}

function restOf(labels: StatLabels): StatLabels {
  return Object.fromEntries(Object.keys(labels).map((name) => [name, otherLabel]))
}

function isRest(labels: StatLabels): boolean {
  return Object.values(labels).every((value) => value === otherLabel)
}
