import type { RouteRule } from '../model/route-rule.ts'
import { isAmbiguousPath } from './path.ts'

/** A rule as the configuration file shows it: its path, and its methods where it names some. */
export function ruleText({ path, methods }: RouteRule): string {
  return methods === undefined ? path : `${path} [${methods.join(', ')}]`
}

/** What is wrong with the sign-in that a rule requires; undefined for a valid rule. */
export function signInFault({ public: isPublic, requireAcr, maxAgeSeconds }: RouteRule): string | undefined {
  if (requireAcr === undefined && maxAgeSeconds === undefined) return undefined
  if (isPublic)
    return 'can require no sign-in (require_acr, max_age_seconds) with public: true: credentials are not read'
  if (maxAgeSeconds !== undefined && !(Number.isSafeInteger(maxAgeSeconds) && maxAgeSeconds >= 1))
    return 'must have a max_age_seconds of at least 1'
  return requireAcr === undefined || /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(requireAcr)
    ? undefined
    : 'must have one acr value as require_acr: printable ASCII without spaces, " and \\'
}

/** What is wrong with the path of a rule; undefined for a valid one. */
export function templateFault(path: string): string | undefined {
  if (/\*./.test(path)) return 'may have a * only at its end'
  if (/\}[^/]*\*$/.test(path)) return 'may not have a parameter and a * in one segment'
  if (isAmbiguousPath(path.replace(/\*$/, ''))) return 'can match no request: it would be refused as ambiguous'
  return undefined
}
