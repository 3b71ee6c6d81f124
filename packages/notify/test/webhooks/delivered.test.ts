import assert from 'node:assert/strict'
import { test } from 'node:test'
import { post, send, setupWebhooks } from '../support/providers/webhook-provider.ts'

type Setup = Awaited<ReturnType<typeof setupWebhooks>>

interface Entry {
  readonly at: string
  readonly what: string
  readonly detail?: Readonly<Record<string, unknown>>
}

/** The entries of a timeline from when it was sent on. */
async function sinceSent(s: Setup, id: string): Promise<Entry[]> {
  const { body } = await s.call('GET', `/v1/notifications/${id}`)
  const timeline = body.timeline as Entry[]
  return timeline.slice(timeline.findIndex(({ what }) => what === 'sent'))
}

const storedEntries = async (s: Setup) =>
  (await s.database.query<{ entry_type: string }>('SELECT entry_type FROM notify.timeline_entry ORDER BY id')).rows.map(
    (row) => row.entry_type,
  )

test('that its provider delivered a message stands in the delivery, and counts once', async (t) => {
  const s = await setupWebhooks(t)
  const { id, deliveryId } = await send(s)
  const at = s.clock.now() - 5_000
  const delivered = { eventId: 'e1', deliveryId, report: 'delivered', at }
  const opened = { eventId: 'e2', deliveryId, report: 'opened', at: at + 1_000 }
  for (let times = 0; times < 2; times++) assert.equal((await post(s, [delivered, opened])).status, 204)
  const [sent, ...later] = await sinceSent(s, id)
  assert.equal(sent?.what, 'sent')
  assert.deepEqual(later, [
    {
      at: new Date(at).toISOString(),
      what: 'delivered',
      channel: 'email',
      detail: { state: 'delivered', provider: 'reporter' },
    },
    {
      at: new Date(at + 1_000).toISOString(),
      what: 'opened',
      channel: 'email',
      detail: { state: 'opened', provider: 'reporter' },
    },
  ])
  assert.deepEqual(await storedEntries(s), ['opened'], 'an entry of its own costs as much again')
  assert.equal((await post(s, [{ ...delivered, eventId: 'e3' }])).status, 204)
  assert.equal((await post(s, [delivered])).status, 204)
  assert.deepEqual(
    (await sinceSent(s, id)).map(({ what }) => what),
    ['sent', 'delivered', 'opened', 'delivered'],
  )
})

test('what a provider says beside that it delivered a message is in the timeline', async (t) => {
  const s = await setupWebhooks(t)
  const { id, deliveryId } = await send(s)
  const report = { eventId: 'e1', deliveryId, report: 'delivered', at: s.clock.now(), reason: '250 2.0.0 OK' }
  for (let times = 0; times < 2; times++) assert.equal((await post(s, [report])).status, 204)
  const [, ...later] = await sinceSent(s, id)
  assert.deepEqual(
    later.map(({ detail }) => detail),
    [{ state: 'delivered', provider: 'reporter', reason: '250 2.0.0 OK' }],
  )
})
