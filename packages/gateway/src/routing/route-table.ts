import { fitsPath, type PathTemplate, Problem, parsePathTemplate, pathSegments } from '@gatehouse/kit'
import { allMethods, type RouteRule } from '../model/route-rule.ts'

/** Rules in the order of a list: the first that fits a request's path and method is its rule. */
export interface RouteTable {
  /**
   * The rule of a request.
   * @throws Problem 400 when servers may read the path as ones with different rules
   */
  find(method: string, path: string): RouteRule | undefined
  /** The methods that some rule takes at a path. */
  methodsAt(path: string): readonly string[]
}

interface Entry {
  readonly rule: RouteRule
  readonly template: PathTemplate
  readonly methods: ReadonlySet<string>
}

/** What a rule covers: HEAD goes where GET does (RFC 9110 §9.3.2), lest it be a way round what GET needs. */
function methodsOf({ methods = allMethods }: Pick<RouteRule, 'methods'>): ReadonlySet<string> {
  return new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)
}

const entryOf = (rule: RouteRule): Entry => ({
  rule,
  template: parsePathTemplate(rule.path),
  methods: methodsOf(rule),
})

/**
 * A table of rules. Rules are looked through in their order, but only those whose first segment can be the path's.
 */
export function createRouteTable(rules: readonly RouteRule[]): RouteTable {
  const entries = rules.map(entryOf)
  const known = new Set(entries.map(firstOf).filter((first) => first !== undefined))
  const anyFirst = entries.filter((entry) => firstOf(entry) === undefined)
  const byFirst = new Map(
    [...known].map((first) => [first, entries.filter((entry) => (firstOf(entry) ?? first) === first)]),
  )
  const candidates = (path: readonly string[]) => byFirst.get(path[0] ?? '') ?? anyFirst

  function findFirst(method: string, path: readonly string[]): RouteRule | undefined {
    return candidates(path).find(({ methods, template }) => methods.has(method) && fitsPath(template, path))?.rule
  }

  return {
    find(method, path) {
      const segments = segmentsOf(path)
      const rule = findFirst(method, segments)
      if (segments.some((segment) => segment.includes(';')) && findFirst(method, withoutParameters(segments)) !== rule)
        throw new Problem(400, 'The path holds a semicolon, with which it may be read in more than one way.')
      return rule
    },
    methodsAt(path) {
      const segments = segmentsOf(path)
      const entries = candidates(segments).filter(({ template }) => fitsPath(template, segments))
      return [...new Set(entries.flatMap(({ methods }) => [...methods]))].sort()
    },
  }
}

function segmentsOf(path: string): string[] {
  const segments = pathSegments(path)
  if (segments) return segments
  throw new Problem(400, 'The path is not percent-encoded UTF-8.')
}

/** Some servers cut a segment at its semicolon before they compare. */
const withoutParameters = (segments: readonly string[]) => segments.map((segment) => segment.split(';', 1)[0] ?? '')

/** The first segment that every path of the rule has; undefined where there may be several. */
function firstOf({ template: { segments } }: Entry): string | undefined {
  return typeof segments[0] === 'string' ? segments[0] : undefined
}

/** A rule that can never match, and the earlier ones that take its requests. */
export interface ShadowedRule {
  readonly rule: RouteRule
  readonly by: readonly RouteRule[]
}

/**
 * The rules of a list that can never match. What an upstream serves is behind all earlier rules; what a service of ours
 * serves is behind the earlier ones without an upstream alone, for no upstream gets it.
 */
export function shadowedRules(rules: readonly RouteRule[]): ShadowedRule[] {
  return rules.flatMap((rule, index) => {
    const earlier = rules.slice(0, index).filter((one) => rule.upstream !== undefined || one.upstream === undefined)
    const by = shadowsOf(rule, earlier)
    return by === undefined ? [] : [{ rule, by }]
  })
}

/** The earlier rules that together take every request of a rule; undefined when some requests are left to it. */
export function shadowsOf(rule: RouteRule, earlier: readonly RouteRule[]): RouteRule[] | undefined {
  const { template, methods } = entryOf(rule)
  const before = earlier.map(entryOf)
  const by = new Set<RouteRule>()
  const deepest = Math.max(0, ...before.map((one) => one.template.segments.length)) + 1
  for (const path of witnesses(template, deepest)) {
    for (const method of methods) {
      const match = before.find((one) => one.methods.has(method) && fitsPath(one.template, path))
      if (match === undefined) return undefined
      by.add(match.rule)
    }
  }
  return [...by]
}

/** A segment that no template spells out: what takes it takes any. */
const anySegment = '\u0000any'

/**
 * Paths that stand for all of a template's: its parameters hold what nobody else spells out, and what follows a `*` is
 * as long as any template looks. Earlier rules that take all of these take everything.
 */
function witnesses({ segments, rest, text }: PathTemplate, deepest: number): string[][] {
  const pieces = text.replace(/^\//, '').split('/')
  const head = segments.map((segment, i) =>
    typeof segment === 'string' ? segment : (pieces[i] ?? '').replaceAll(/\{\w+\}|^:\w+$/g, anySegment),
  )
  if (rest === undefined) return [head]
  const firsts = [rest, rest + anySegment]
  const paths = firsts.map((first) => [...head, first])
  for (const first of firsts) {
    const path = [...head, first]
    // An empty segment with others behind it is refused before any rule is looked for.
    if (first === '') continue
    for (let more = 0; more <= deepest; more++) {
      paths.push([...path, ''])
      path.push(anySegment)
      paths.push([...path])
    }
  }
  return paths
}
