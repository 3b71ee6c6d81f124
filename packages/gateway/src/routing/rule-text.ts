import type { RouteRule } from '../model/route-rule.ts'
import { isAmbiguousPath } from './path.ts'

/** A rule as the configuration file shows it: its path, and its methods where it names some. */
export function ruleText({ path, methods }: RouteRule): string {
  return methods === undefined ? path : `${path} [${methods.join(', ')}]`
}

/** What is wrong with the path of a rule; undefined for a valid one. */
export function templateFault(path: string): string | undefined {
  if (/\*./.test(path)) return 'may have a * only at its end'
  if (/\}[^/]*\*$/.test(path)) return 'may not have a parameter and a * in one segment'
  if (isAmbiguousPath(path.replace(/\*$/, ''))) return 'can match no request: it would be refused as ambiguous'
  return undefined
}
