import { claimsCoveredBy } from './user.ts'

/** What a client may do for a user, as a consent page names it and as it is remembered. */
export interface Access {
  readonly scopes: readonly string[]
  /** Identifiers of the resources that the scopes are for; none where they are about the user alone. */
  readonly resources: readonly string[]
  /** Claims that were asked for by name and are covered by none of the scopes. */
  readonly claims: readonly string[]
}

/** Whether a page that named `shown` named everything in `requested`. */
export function covers(shown: Access, requested: Access): boolean {
  const claims = claimsCoveredBy(shown.scopes)
  return (
    requested.scopes.every((scope) => shown.scopes.includes(scope)) &&
    requested.resources.every((resource) => shown.resources.includes(resource)) &&
    requested.claims.every((claim) => shown.claims.includes(claim) || claims.has(claim))
  )
}

/** What a page shows of it: this server's own API goes without saying. */
export function withoutOwnApi({ apiIdentifier }: { readonly apiIdentifier: string }, access: Access): Access {
  return { ...access, resources: access.resources.filter((one) => one !== apiIdentifier) }
}

/** What a user allowed a client on one consent page, or on several merged. */
export interface Consent extends Access {
  readonly clientId: string
  /** Unix milliseconds. */
  readonly grantedAt: number
}

/** The consents of one client as one; `pages` is not empty. */
export function mergeConsents(pages: readonly Consent[]): Consent {
  const merge = (select: (page: Consent) => readonly string[]) => [...new Set(pages.flatMap(select))].sort()
  return {
    clientId: pages[0]?.clientId ?? '',
    scopes: merge(({ scopes }) => scopes),
    resources: merge(({ resources }) => resources),
    claims: merge(({ claims }) => claims),
    grantedAt: Math.max(...pages.map(({ grantedAt }) => grantedAt)),
  }
}
