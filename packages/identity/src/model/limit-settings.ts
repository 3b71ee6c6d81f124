import { entityTagOf } from '@gatehouse/kit'

/** A tier or policy as the configuration declares it. Its members are checked by the gateway's rules. */
export type LimitDeclaration = Readonly<Record<string, unknown>>

/** What a document has by name. */
export const limitKinds = ['tiers', 'policies'] as const
/** One of {@link limitKinds}. */
export type LimitKind = (typeof limitKinds)[number]

/** The tiers and policies that all gateways apply. */
export interface LimitDocument {
  readonly tiers: Readonly<Record<string, LimitDeclaration>>
  readonly policies: Readonly<Record<string, LimitDeclaration>>
  readonly global_policy?: string
}

/** Where a version came from: the configuration file, an edit, or an earlier version that was activated again. */
export type LimitOrigin = 'file' | 'edit' | 'rollback'

/** A version of the document. Versions count from 1 and are never changed; the highest one is active. */
export interface LimitVersion {
  readonly version: number
  readonly document: LimitDocument
  readonly origin: LimitOrigin
  readonly author?: string | undefined
  readonly comment: string
  /** The version that was activated again. */
  readonly restored?: number | undefined
  readonly createdAt: number
}

/** Another limit for one caller, until a time. */
export interface LimitOverride {
  readonly kind: string
  readonly id: string
  readonly policy?: string | undefined
  readonly factor?: number | undefined
  readonly reason: string
  readonly author?: string | undefined
  readonly createdAt: number
  readonly until: number
}

/** A client that has a policy, which counts its requests in place of a tier. */
export interface ClientPolicy {
  readonly client: string
  readonly policy: string
}

/** The plan of services, which no tier limits. */
export const unlimitedPlan = 'unlimited'
/** The maximum number of overrides at a time: every gateway has all of them. */
export const maxLimitOverrides = 1_000
/** The maximum number of clients that have a policy: every gateway has all of them. */
export const maxClientPolicies = 1_000
/** The maximum number of tiers and policies. */
export const maxLimitDeclarations = 500
/** How many versions are kept. */
export const maxLimitVersions = 1_000

/** Why no caller can have a limit of this name; undefined where there is such a tier or policy. */
export function findLimitFault({ tiers, policies }: LimitDocument, name: string): string | undefined {
  if (Object.hasOwn(tiers, name) || Object.hasOwn(policies, name)) return undefined
  return `there is no tier or policy "${name}"; there are ${[...Object.keys(tiers), ...Object.keys(policies)].join(', ')}`
}

/** The document with another declaration of a name, or without it. */
export function withDeclaration(
  document: LimitDocument,
  kind: LimitKind,
  name: string,
  declaration: LimitDeclaration | undefined,
): LimitDocument {
  const { [name]: _before, ...others } = document[kind]
  return { ...document, [kind]: declaration === undefined ? others : { ...document[kind], [name]: declaration } }
}

/** Whether two values say the same, in whatever order of members. */
export function isSame(one: unknown, other: unknown): boolean {
  return one === undefined || other === undefined ? one === other : entityTagOf(one) === entityTagOf(other)
}

/** The tiers and policies in which two documents differ, as `tiers/free`. */
export function listDifferences(one: LimitDocument, other: LimitDocument): string[] {
  const named = limitKinds.flatMap((kind) => {
    const names = new Set([...Object.keys(one[kind]), ...Object.keys(other[kind])])
    return [...names].filter((name) => !isSame(one[kind][name], other[kind][name])).map((name) => `${kind}/${name}`)
  })
  return one.global_policy === other.global_policy ? named : [...named, 'global_policy']
}

/**
 * Applies an edit of the file to the current document: what differs between the file as it was and as it is now. The
 * last edit wins, so a tier that was edited since and that the file leaves alone stays as it was edited.
 */
export function mergeFile(current: LimitDocument, before: LimitDocument, file: LimitDocument): LimitDocument {
  let merged = current
  for (const difference of listDifferences(before, file)) {
    const [kind, name] = splitName(difference)
    if (name !== undefined) merged = withDeclaration(merged, kind, name, file[kind][name])
  }
  if (before.global_policy === file.global_policy) return merged
  const { global_policy: _before, ...rest } = merged
  return file.global_policy === undefined ? rest : { ...rest, global_policy: file.global_policy }
}

function splitName(difference: string): [kind: LimitKind, name: string | undefined] {
  const slash = difference.indexOf('/')
  if (slash < 0) return ['tiers', undefined]
  return [difference.slice(0, slash) as LimitKind, difference.slice(slash + 1)]
}
