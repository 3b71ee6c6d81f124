import type { EventData } from '../event-data.ts'

/** Data with a member for each variable of a template, by its path: `order.id` becomes `{order: {id: 'id'}}`. */
export function sampleData(variables: readonly string[]): EventData {
  const data: Record<string, unknown> = {}
  for (const variable of variables.toSorted()) {
    const names = variable.split('.')
    const last = names.pop() ?? ''
    let place = data
    for (const name of names) {
      if (typeof place[name] !== 'object') place[name] = {}
      place = place[name] as Record<string, unknown>
    }
    place[last] ??= last
  }
  return data
}
