import type { InputOf } from '../../../../actions/index.ts'
import type { EventData } from '../event-data.ts'

/*
 * The server goes on when the answer to a call is lost, and the person sends the form again. So each event that has no
 * dedup key is sent with one of its own, made of the id of the form and of what the event says: the same event of the
 * same form is sent once, and one that was edited in between is another. A form that was sent gets another id.
 */

/** Many events with a dedup key each, in order. Events that are equal are told apart by their number. */
export async function withOwnKeys(form: string, events: readonly EventData[]): Promise<EventData[]> {
  const digests = await Promise.all(events.map((event) => digestOf(JSON.stringify(event))))
  const seen = new Map<string, number>()
  return events.map((event, index) => {
    const digest = digests[index] ?? ''
    const number = (seen.get(digest) ?? 0) + 1
    seen.set(digest, number)
    return 'dedup_key' in event ? event : { ...event, dedup_key: `${form}-${digest}${number > 1 ? `-${number}` : ''}` }
  })
}

/** An event with a dedup key. `at` is when it is sent, where that is not now: at another time it is another. */
export async function withOwnKey(form: string, event: InputOf<'send'>, at = ''): Promise<InputOf<'send'>> {
  if (event.dedup_key !== undefined) return event
  return { ...event, dedup_key: `${form}-${await digestOf(at + JSON.stringify(event))}` }
}

/** So many bytes of a digest tell 10,000 events apart, and are short. */
const digestBytes = 8

async function digestOf(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return Array.from(digest.subarray(0, digestBytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
