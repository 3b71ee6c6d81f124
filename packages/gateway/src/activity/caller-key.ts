import type { Identifier } from '@gatehouse/limiter'

/** Whose requests are counted together: those of a caller on a route, by the policies that counted them. */
export interface CallerKey extends Identifier {
  /** The policies that counted the requests, or the one that rejected them. */
  readonly policies: readonly string[]
  /** The template of the route; of an attempt its policy. */
  readonly route: string
}

/** How often requests of a key were seen, at least. */
export interface CallerCount extends CallerKey {
  readonly count: number
  /** When the last of them was, in Unix milliseconds. */
  readonly at: number
}

/** Writes what the keys of a route and its policies have in common: names and templates hold no tab and no line feed. */
export function keyPrefix(policies: readonly string[], route: string): string {
  return `${policies.join('\t')}\n${route}\n`
}

/** Reads a key: a prefix, the kind, a line feed and the id, which may hold any text. */
export function parseCallerKey(key: string): CallerKey {
  const [policies = '', route = '', kind = '', ...id] = key.split('\n')
  return { policies: policies.split('\t'), route, kind, id: id.join('\n') }
}
