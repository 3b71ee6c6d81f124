import { fitsPath, type PathTemplate, parsePathTemplate, pathSegments } from '@gatehouse/kit'
import { actions, factsOf, serviceOf } from '../../actions/index.ts'
import type { ApiService } from '../options.ts'

interface Forwarded {
  readonly service: ApiService
  readonly template: PathTemplate
}

const byMethod = Map.groupBy(
  [...new Set(Object.values(actions).map(({ operation }) => operation))].map((id) => ({
    ...factsOf(id),
    service: serviceOf(id),
  })),
  ({ method }) => method,
)
const forwarded: ReadonlyMap<string, readonly Forwarded[]> = new Map(
  [...byMethod].map(([method, some]) => [
    method,
    some.map(({ service, path }) => ({ service, template: parsePathTemplate(path) })),
  ]),
)

/**
 * The service of a request to the API; undefined for what no action declares. A path whose segments are read differently
 * by different servers is none: dots, and slashes or backslashes that are percent-encoded.
 */
export function findService(method: string, path: string): ApiService | undefined {
  const segments = pathSegments(path)
  if (segments === undefined || segments.some(isAmbiguous)) return undefined
  return forwarded.get(method)?.find(({ template }) => fitsPath(template, segments))?.service
}

function isAmbiguous(segment: string): boolean {
  return segment === '' || segment === '.' || segment === '..' || /[/\\\u0000-\u001f]/.test(segment)
}
