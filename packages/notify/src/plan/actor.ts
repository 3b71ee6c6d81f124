import type { Data } from '../model/notification/notification.ts'

/** The actor of a like-type event: the value at `path` (members joined by dots) in its data, undefined when it is none. */
export function actorOf(data: Data, path: string): string | undefined {
  let value: unknown = data
  for (const member of path.split('.')) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, member)) return undefined
    value = (value as Record<string, unknown>)[member]
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}
