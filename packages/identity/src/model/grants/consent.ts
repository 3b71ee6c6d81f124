import { claimsCoveredBy } from '../user.ts'

/** The access of a client on behalf of a user, as a consent page shows it and as it is stored. */
export interface Access {
  readonly scopes: readonly string[]
  /** Identifiers of the resources that the scopes are for; none where they are about the user alone. */
  readonly resources: readonly string[]
  /** Claims that were requested by name and that none of the scopes covers. */
  readonly claims: readonly string[]
}

/** Whether a page that showed `shown` covered everything in `requested`. */
export function covers(shown: Access, requested: Access): boolean {
  const claims = claimsCoveredBy(shown.scopes)
  return (
    requested.scopes.every((scope) => shown.scopes.includes(scope)) &&
    requested.resources.every((resource) => shown.resources.includes(resource)) &&
    requested.claims.every((claim) => shown.claims.includes(claim) || claims.has(claim))
  )
}

/** The access as a page shows it: without this server's own API. */
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
