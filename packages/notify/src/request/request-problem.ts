import { type Fault, Problem } from '@gatehouse/kit'
import type { Catalog } from '../catalog/catalog.ts'
import type { NotifyRequest } from '../model/notification/notification.ts'

const maxListed = 100

/**
 * 422 for a well-formed request that names what there is not, with every such fault, and 403 for one of an event type
 * that belongs to another service; undefined for one without. `base` is where the request stands in the body, as a JSON
 * pointer.
 */
export function problemOf(
  { event, channels }: Pick<NotifyRequest, 'event' | 'channels'>,
  catalog: Catalog,
  base: string = '',
): Problem | undefined {
  if (catalog.isReserved(event))
    return new Problem(403, `The event type ${event} is reserved: only the service that it belongs to sends its mails.`)
  if (catalog.borrowsReserved(event))
    return new Problem(
      403,
      `The event type ${event} names the template of a reserved event type; give it one of its own.`,
    )
  const isKnown = catalog.eventTypes.has(event)
  if (isKnown && channels?.length !== 0) return undefined
  const empty: Fault = {
    pointer: `${base}/channels`,
    detail: 'must name at least one channel; leave it out to follow the preferences',
  }
  const unknown = isKnown ? [] : [unknownEvent(catalog, `${base}/event`)]
  const errors = [...unknown, ...(channels?.length === 0 ? [empty] : [])]
  const sentences = errors.map((fault) =>
    fault === empty
      ? `The member ${fault.pointer} ${fault.detail}.`
      : `The event ${JSON.stringify(event)} ${fault.detail}.`,
  )
  return new Problem(422, sentences.join(' '), {
    errors,
    ...(isKnown ? {} : { members: { known_event_types: knownTo(catalog) } }),
  })
}

/** 422 for a setting of an event type that is not known. `pointer` is where it is named. */
export function unknownEventProblem(event: string, catalog: Catalog, pointer: string): Problem {
  const fault = unknownEvent(catalog, pointer)
  return new Problem(422, `The event ${JSON.stringify(event)} ${fault.detail}.`, {
    errors: [fault],
    members: { known_event_types: knownTo(catalog) },
  })
}

function unknownEvent(catalog: Catalog, pointer: string): Fault {
  const known = knownTo(catalog)
  return { pointer, detail: `is no known event type; known are ${known.length > 0 ? known.join(', ') : 'none yet'}` }
}

/** Event types that a producer may name: those that are reserved would be refused too. */
function knownTo(catalog: Catalog): string[] {
  const own = [...catalog.eventTypes.keys()].filter((event) => !catalog.isReserved(event))
  return own.sort().slice(0, maxListed)
}
