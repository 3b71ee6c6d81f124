import { fitsPath, type PathTemplate, Problem, parsePathTemplate, pathSegments } from '@gatehouse/kit'
import { allMethods, type RouteRule } from '../model/route-rule.ts'
import { isAmbiguousPath } from './path.ts'

/** A route of this process, or a path of a service in another one, which no rule with an upstream takes over. */
export interface OwnRoute {
  readonly method: string
  readonly path: string
  /** The rule that applies where the file has none. */
  readonly rule: RouteRule | undefined
}

/** Why a rule applies to a request, or does not. */
export type MatchReason = 'matches' | 'path_differs' | 'method_differs' | 'reserved_path' | 'earlier_rule'

/** A rule of the file, compared with a request. */
export interface ComparedRule {
  readonly rule: RouteRule
  /** Its place in the file, from 1. */
  readonly position: number
  readonly reason: MatchReason
}

/** What happens to a request, by its method and path. */
export interface RouteMatch {
  /** `own`: a service of ours answers; `upstream`: it is forwarded; `method`: 405; `none`: 404; `refused`: 400. */
  readonly outcome: 'own' | 'upstream' | 'method' | 'none' | 'refused'
  /** The template that metrics and rejections show. */
  readonly route: string
  /** The rule that applies. */
  readonly rule: RouteRule | undefined
  /** Where the rule that applies stands in the file, from 1; undefined for one of ours. */
  readonly position: number | undefined
  /** The methods that the path has, where the request's is not one of them. */
  readonly allow: readonly string[]
  readonly compared: readonly ComparedRule[]
}

/** What {@link matchRoute} compares with. */
export interface MatchOptions {
  /** Rules of the file, in their order. */
  readonly declared: readonly RouteRule[]
  readonly own: readonly OwnRoute[]
}

interface Target {
  readonly method: string
  readonly segments: readonly string[]
}

/**
 * Finds what happens to a request, and why: which rules were compared, in what order, and how each one differs. Follows
 * the same order as the routing of requests: our own routes, then the rules of the file.
 * @throws Problem 400 when the path is not percent-encoded UTF-8
 */
export function matchRoute({ declared, own }: MatchOptions, method: string, path: string): RouteMatch {
  const target = { method, segments: segmentsOf(path) }
  const reserved = own.filter((route) => fitsPath(parsePathTemplate(route.path), target.segments))
  const compared = compareRules(declared, target, reserved.length > 0)
  if (isAmbiguousPath(path)) return { ...unmatched, outcome: 'refused', compared }
  const [route] = reserved
    .filter((one) => one.method === method || (one.method === 'GET' && method === 'HEAD') || one.method === '*')
    .sort((one, other) => specificity(other.path) - specificity(one.path))
  const applied = compared.find(({ reason }) => reason === 'matches')
  const position = applied === undefined ? {} : { position: applied.position }
  if (route !== undefined)
    return { ...unmatched, outcome: 'own', route: route.path, rule: applied?.rule ?? route.rule, ...position, compared }
  if (reserved.length > 0)
    return { ...unmatched, outcome: 'method', allow: methodsOf(reserved.map((one) => one.method)), compared }
  if (applied?.rule.upstream !== undefined)
    return { ...unmatched, outcome: 'upstream', route: applied.rule.path, rule: applied.rule, ...position, compared }
  const others = compared.filter(({ reason, rule }) => reason === 'method_differs' && rule.upstream !== undefined)
  const allow = methodsOf(others.flatMap(({ rule }) => rule.methods ?? allMethods))
  const outcome = applied === undefined && allow.length > 0 ? 'method' : 'none'
  return { ...unmatched, outcome, rule: applied?.rule, ...position, allow: outcome === 'method' ? allow : [], compared }
}

const unmatched = { route: 'unmatched', rule: undefined, position: undefined, allow: [] } as const

function compareRules(declared: readonly RouteRule[], target: Target, isReserved: boolean): ComparedRule[] {
  let isFound = false
  return declared.map((rule, index) => {
    const reason = reasonOf(rule, target, { isReserved, isFound })
    isFound ||= reason === 'matches'
    return { rule, position: index + 1, reason }
  })
}

function reasonOf(
  rule: RouteRule,
  { method, segments }: Target,
  { isReserved, isFound }: { readonly isReserved: boolean; readonly isFound: boolean },
): MatchReason {
  if (!fitsPath(parsePathTemplate(rule.path), segments)) return 'path_differs'
  if (!accepts(rule, method)) return 'method_differs'
  if (isReserved && rule.upstream !== undefined) return 'reserved_path'
  return isFound ? 'earlier_rule' : 'matches'
}

function accepts({ methods = allMethods }: RouteRule, method: string): boolean {
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
}

/** The router prefers a segment that is spelled out to a parameter, and both to a `*`. */
function specificity(path: string): number {
  const { segments, rest }: PathTemplate = parsePathTemplate(path)
  const spelled = segments.filter((segment) => typeof segment === 'string').length
  return spelled * 2 + segments.length - (rest === undefined ? 0 : 1)
}

const methodsOf = (methods: readonly string[]): string[] => [...new Set(methods)].sort()

function segmentsOf(path: string): string[] {
  const segments = pathSegments(path)
  if (segments) return segments
  throw new Problem(400, 'The path is not percent-encoded UTF-8.')
}
