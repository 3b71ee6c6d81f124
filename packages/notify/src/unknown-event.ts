import { Problem } from '@gatehouse/kit'
import type { Catalog } from './catalog.ts'

const mostListed = 100

/** 422 for an event of no known type; it lists the known ones. `pointer` is where the event stands. */
export function unknownEvent(event: string, catalog: Catalog, pointer: string = '/event'): Problem {
  const known = [...catalog.eventTypes.keys()].sort().slice(0, mostListed)
  const detail = `is no known event type; known are ${known.length > 0 ? known.join(', ') : 'none yet'}`
  return new Problem(422, `The event ${JSON.stringify(event)} ${detail}.`, {
    errors: [{ pointer, detail }],
    members: { known_event_types: known },
  })
}
