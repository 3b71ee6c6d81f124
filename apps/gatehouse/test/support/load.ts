/** Load on a running program: events that the client `shop` sends from several producers at once. */
import assert from 'node:assert/strict'
import type { Program } from './program.ts'

/** The secret of the client `shop` in the configurations of these tests. */
const shopSecret = 'a-secret-of-the-test-alone-0123456789'

/** The configuration of these tests: the client `shop` without limits, and the event type `parcel.moved`. */
export const loadConfiguration = `
channels: { email: off, sms: off, push: off }
clients:
  - client_id: shop
    client_secret: ${shopSecret}
    grant_types: [client_credentials]
    scopes: [write:notifications, admin:notifications]
    plan: roomy
tiers:
  free: { rpm: 10 }
  roomy: { rpm: 100000000 }
policies: { anonymous: { rpm: 1000000 }, identity: { rpm: 1000000 }, producer: { rpm: 100000000 } }
event_types:
  - { event: parcel.moved, channels: [in-app] }
`

/** Gets an access token of the client `shop`. */
export async function shopToken({ url }: Pick<Program, 'url'>): Promise<string> {
  const answer = await fetch(`${url}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`shop:${shopSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  return ((await answer.json()) as { access_token: string }).access_token
}

/** Writes the in-app template of an event type. */
export async function writeTemplate(program: Pick<Program, 'url'>, event: string): Promise<void> {
  const answer = await fetch(`${program.url}/v1/templates/${event}/in-app/en`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${await shopToken(program)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ subject: 'Parcel', body: 'It moved.' }),
  })
  assert.equal(answer.status, 200)
}

export interface EventLoad {
  /** An access token of the client `shop`. */
  readonly token: string
  /** How many producers send at once, each one request after the other. */
  readonly producers: number
  /** The body of a request, by its number from 0; called right before it is sent. */
  readonly eventAt: (index: number) => object
  /** Receives each response as soon as its headers are there, and reads its body. */
  readonly onResponse: (response: Response, index: number) => Promise<void>
  /** Whether the producers end before their next request. */
  readonly isStopped: () => boolean
  /** Aborts the requests under way. */
  readonly signal?: AbortSignal
}

/** Sends events until the load is stopped. Rejects with the first error of a producer; the others go on. */
export async function sendEvents(program: Pick<Program, 'url'>, load: EventLoad): Promise<void> {
  const { token, producers, eventAt, onResponse, isStopped, signal } = load
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  let next = 0
  const produce = async () => {
    while (!isStopped()) {
      const index = next++
      const body = JSON.stringify(eventAt(index))
      const response = await fetch(`${program.url}/v1/notify`, {
        method: 'POST',
        headers,
        body,
        signal: signal ?? null,
      })
      await onResponse(response, index)
    }
  }
  await Promise.all(Array.from({ length: producers }, produce))
}
