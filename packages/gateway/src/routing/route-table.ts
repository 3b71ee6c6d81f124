import { fitsPath, type PathTemplate, Problem, parsePathTemplate, pathSegments } from '@gatehouse/kit'
import { allMethods, type RouteRule } from '../model/route-rule.ts'

/** Rules in the order of a list. The first that matches a request's path and method applies. */
export interface RouteTable {
  /**
   * The rule of a request.
   * @throws Problem 400 when servers may read the path in ways that have different rules
   */
  find(method: string, path: string): RouteRule | undefined
  /** The methods that rules accept at a path. */
  methodsAt(path: string): readonly string[]
}

interface Entry {
  readonly rule: RouteRule
  readonly template: PathTemplate
  readonly methods: ReadonlySet<string>
}

/** The methods of a rule. HEAD is handled as GET (RFC 9110 §9.3.2), so that it cannot bypass what GET requires. */
function methodsOf({ methods = allMethods }: Pick<RouteRule, 'methods'>): ReadonlySet<string> {
  return new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)
}

const entryOf = (rule: RouteRule): Entry => ({
  rule,
  template: parsePathTemplate(rule.path),
  methods: methodsOf(rule),
})

/**
 * A table of rules. Rules are searched in order, but only those whose first segment can match.
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
        throw new Problem(400, 'The path contains a semicolon, which makes it ambiguous.')
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

/** Some servers cut a segment at its semicolon before they match it. */
const withoutParameters = (segments: readonly string[]) => segments.map((segment) => segment.split(';', 1)[0] ?? '')

/** The first segment of every path of the rule; undefined where it varies. */
function firstOf({ template: { segments } }: Entry): string | undefined {
  return typeof segments[0] === 'string' ? segments[0] : undefined
}

/** A rule that can never match, and the earlier ones that match its requests. */
export interface ShadowedRule {
  readonly rule: RouteRule
  readonly by: readonly RouteRule[]
}

/**
 * The rules of a list that can never match. A rule with an upstream is shadowed by any earlier rule; one of an own
 * service only by earlier ones without an upstream, since no upstream receives its requests.
 */
export function shadowedRules(rules: readonly RouteRule[]): ShadowedRule[] {
  return rules.flatMap((rule, index) => {
    const earlier = rules.slice(0, index).filter((one) => rule.upstream !== undefined || one.upstream === undefined)
    const by = shadowsOf(rule, earlier)
    return by === undefined ? [] : [{ rule, by }]
  })
}

/** The earlier rules that together match every request of a rule; undefined when it has requests of its own. */
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

/** A segment that no template contains literally: what matches it matches any. */
const anySegment = '\u0000any'

/**
 * Paths that represent all paths of a template: its parameters are segments that no template contains literally, and
 * what follows a `*` is as deep as the deepest template. Earlier rules that match all of these match everything.
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
    // An empty segment before others is refused before rules are matched.
    if (first === '') continue
    for (let more = 0; more <= deepest; more++) {
      paths.push([...path, ''])
      path.push(anySegment)
      paths.push([...path])
    }
  }
  return paths
}
