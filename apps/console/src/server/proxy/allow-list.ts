import { fitsPath, type PathTemplate, parsePathTemplate, pathSegments } from '@gatehouse/kit'
import { actions, factsOf, serviceOf, slowAnswerMs } from '../../actions/index.ts'
import type { ApiService } from '../options.ts'

/** An operation that is forwarded. */
interface Forwarded {
  readonly service: ApiService
  /** How long it may take before it answers, in milliseconds; undefined where that is no longer than usual. */
  readonly slowMs: number | undefined
  readonly template: PathTemplate
}

const byMethod = Map.groupBy(
  [...new Set(Object.values(actions).map(({ operation }) => operation))].map((id) => ({
    ...factsOf(id),
    service: serviceOf(id),
    slowMs: slowAnswerMs(id),
  })),
  ({ method }) => method,
)
const forwarded: ReadonlyMap<string, readonly Forwarded[]> = new Map(
  [...byMethod].map(([method, some]) => [
    method,
    some.map(({ service, slowMs, path }) => ({ service, slowMs, template: parsePathTemplate(path) })),
  ]),
)

/**
 * The operation that a request to the API asks for; undefined where no action declares it. A path whose segments are
 * read differently by different servers is none: dots, and slashes or backslashes that are percent-encoded.
 */
export function findForwarded(method: string, path: string): Forwarded | undefined {
  const segments = pathSegments(path)
  if (segments === undefined || segments.some(isAmbiguous)) return undefined
  return forwarded.get(method)?.find(({ template }) => fitsPath(template, segments))
}

function isAmbiguous(segment: string): boolean {
  return segment === '' || segment === '.' || segment === '..' || /[/\\\u0000-\u001f]/.test(segment)
}
