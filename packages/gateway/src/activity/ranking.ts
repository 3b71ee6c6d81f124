import type { CallerCount, CallerKey } from './caller-key.ts'

/** Requests of a caller that one policy counted. */
export interface RankedCaller {
  readonly kind: string
  readonly id: string
  readonly policy: string
  readonly allowed: number
  readonly rejected: number
  /** Unix milliseconds. */
  readonly lastAt: number
}

/** Which callers are ranked; every member narrows it. */
export interface RankingFilter {
  readonly policy?: string
  readonly kind?: string
  readonly route?: string
}

/** Callers as they were counted, the same one in several entries. */
export interface CountedCallers {
  readonly allowed: readonly CallerCount[]
  readonly rejected: readonly CallerCount[]
}

interface Row {
  readonly kind: string
  readonly id: string
  readonly policy: string
  allowed: number
  rejected: number
  lastAt: number
}

/**
 * Ranks callers by how many of their requests were rejected, or allowed. A caller has a row for each policy: a rejected
 * request counts for the policy that rejected it, an allowed one for every policy that counted it.
 */
export function rankCallers(
  counted: CountedCallers,
  by: 'allowed' | 'rejected',
  filter: RankingFilter = {},
): RankedCaller[] {
  const rows = new Map<string, Row>()
  for (const outcome of ['allowed', 'rejected'] as const)
    for (const entry of counted[outcome]) if (fits(entry, filter)) addEntry(rows, entry, { outcome, filter })
  return [...rows.values()]
    .filter((row) => row[by] > 0)
    .sort((one, other) => other[by] - one[by] || other.lastAt - one.lastAt || (one.id < other.id ? -1 : 1))
}

function fits({ policies, kind, route }: CallerKey, filter: RankingFilter): boolean {
  return (
    (filter.policy === undefined || policies.includes(filter.policy)) &&
    (filter.kind === undefined || kind === filter.kind) &&
    (filter.route === undefined || route === filter.route)
  )
}

function addEntry(
  rows: Map<string, Row>,
  { kind, id, policies, count, at }: CallerCount,
  { outcome, filter }: { readonly outcome: 'allowed' | 'rejected'; readonly filter: RankingFilter },
): void {
  for (const policy of policies) {
    if (filter.policy !== undefined && policy !== filter.policy) continue
    const key = `${policy}\n${kind}\n${id}`
    const row = rows.get(key) ?? { kind, id, policy, allowed: 0, rejected: 0, lastAt: 0 }
    row[outcome] += count
    row.lastAt = Math.max(row.lastAt, at)
    rows.set(key, row)
  }
}
