import type { LimitSettings } from '@gatehouse/client'
import type { PolicyDeclaration, TierDeclaration } from '@gatehouse/limiter/memory'

/*
 * Tiers and policies as they are declared: what a draft changes, how it runs in shadow, and how the file says it.
 */

/** What is declared: tiers by the name of their plan, policies by a name of their own. */
export type LimitKind = 'tiers' | 'policies'

/** The members of a tier or policy. */
export type Declaration = PolicyDeclaration & TierDeclaration

/** A tier or policy as it is stored; without a declaration it does not exist yet, or only in the file. */
export interface StoredLimit {
  readonly kind: LimitKind
  readonly name: string
  readonly declaration: Declaration | undefined
  readonly file: Declaration | undefined
  readonly etag: string | undefined
}

/** A declaration as it was read. */
export interface Base {
  readonly declaration: Declaration | undefined
  readonly etag: string | undefined
}

/** What says how much is allowed. */
export const amounts = ['rps', 'rpm', 'daily', 'burst'] as const
/** One of {@link amounts}. */
export type Amount = (typeof amounts)[number]

/** The tiers and policies of the stored limits, or of the file. */
export function declarationsOf(
  { tiers, policies }: Pick<LimitSettings, 'tiers' | 'policies'>,
  kind: LimitKind,
): Readonly<Record<string, Declaration>> {
  return (kind === 'tiers' ? tiers : policies) as Readonly<Record<string, Declaration>>
}

/** The stored limits with those of a draft in shadow: they count and report, and reject nobody. */
export function inShadow(stored: Declaration, draft: Declaration): Declaration {
  return { ...withoutShadow(stored), shadow: pickAmounts(draft) }
}

/** The limits that run in shadow, in place of those that reject. */
export function outOfShadow(stored: Declaration): Declaration {
  const { rps: _rps, rpm: _rpm, daily: _daily, burst: _burst, ...others } = withoutShadow(stored)
  return { ...(stored.shadow ?? {}), ...others }
}

/** The declaration without its shadow. */
export function withoutShadow({ shadow: _shadow, ...others }: Declaration): Declaration {
  return others
}

function pickAmounts(declaration: Declaration): Pick<Declaration, Amount> {
  return Object.fromEntries(
    amounts.flatMap((name) => (declaration[name] === undefined ? [] : [[name, declaration[name]]])),
  )
}

/** A member in which two values differ. */
export interface Difference {
  readonly member: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** In what two values differ, member by member, in the order of their names. */
export function differencesOf(before: unknown, after: unknown): Difference[] {
  const [old, fresh] = [flatten(before), flatten(after)]
  const members = [...new Set([...old.keys(), ...fresh.keys()])].sort()
  return members
    .map((member) => ({ member, before: old.get(member), after: fresh.get(member) }))
    .filter((one) => one.before !== one.after)
}

function flatten(value: unknown, path = ''): Map<string, string> {
  if (value === undefined || value === null) return new Map()
  if (typeof value !== 'object') return new Map([[path, String(value)]])
  return new Map(
    Object.entries(value).flatMap(([name, member]) => [...flatten(member, path === '' ? name : `${path}.${name}`)]),
  )
}

/** A tier or policy as the configuration file says it. */
export function toYaml(kind: LimitKind, name: string, declaration: Declaration): string {
  return [`${kind}:`, `  ${name}:`, ...yamlLines(declaration, 4), ''].join('\n')
}

function yamlLines(value: object, indent: number): string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    if (member === undefined) return []
    const start = `${' '.repeat(indent)}${name}:`
    return typeof member === 'object' && member !== null
      ? [start, ...yamlLines(member, indent + 2)]
      : [`${start} ${member}`]
  })
}
