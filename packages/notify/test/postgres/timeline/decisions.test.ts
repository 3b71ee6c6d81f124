import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdmissionDecision } from '../../../src/admission/admission.ts'
import type { PlannedNotification } from '../../../src/admission/planned.ts'
import { deliveryIdOf, newId } from '../../../src/model/id.ts'
import { createReason } from '../../../src/model/notification/reason.ts'
import { readDecisions, storedDecisions } from '../../../src/postgres/timeline/decisions.ts'

const id = newId(0)
const original = newId(0)
const at = Date.parse('2026-06-01T12:00:00Z')
const row = { id, userId: 'alice', event: 'order.shipped', priority: 'normal', acceptedAt: at, dedupKey: 'k1' } as const
const decisions = [
  { at, what: 'accepted', detail: { source: 'http', event: 'order.shipped', priority: 'normal' } },
  { at, what: 'channels', detail: { channels: ['push', 'email', 'sms'], because: 'request' } },
  { at, what: 'excluded', channel: 'in-app', detail: createReason('channel_off') },
] as const
const planned = { ...row, data: {}, sensitive: false, decisions, deliveries: [], stored: 'no' } as PlannedNotification
const plan = { kind: 'aggregate' } as const
const message = { body: 'Order', locale: 'en', targets: [] }
const template = { id: 'order.shipped', version: 3, locale: 'en' }
const decided: AdmissionDecision = {
  notification: planned,
  answerId: id,
  deliveries: [
    { channel: 'push', outcome: 'queued', plan: { kind: 'send', message, template }, id: deliveryIdOf(id, 'push') },
    { channel: 'email', outcome: 'duplicate', plan, id: deliveryIdOf(original, 'email') },
    { channel: 'sms', outcome: 'duplicate', plan },
  ],
}
const key = (channel: string) => `order.shipped:k1:alice:${channel}`

test('a stored timeline is read with what its row left out: times, ids and keys', () => {
  const stored = JSON.parse(JSON.stringify(storedDecisions(decided)))
  assert.deepEqual(readDecisions(row, stored), [
    ...decisions,
    {
      at,
      what: 'queued',
      channel: 'push',
      detail: { delivery_id: deliveryIdOf(id, 'push'), dedup_key: key('push'), template },
    },
    {
      at,
      what: 'duplicate',
      channel: 'email',
      detail: { delivery_id: deliveryIdOf(original, 'email'), dedup_key: key('email') },
    },
    { at, what: 'duplicate', channel: 'sms', detail: { dedup_key: key('sms') } },
  ])
})

test('a stored timeline names the template only where it is not that of the event type', () => {
  const queued = (of: typeof template) => ({
    ...decided,
    deliveries: [
      { channel: 'push' as const, outcome: 'queued' as const, plan: { kind: 'send' as const, message, template: of } },
    ],
  })
  const other = { ...template, id: 'shipping' }
  const [, , , same] = storedDecisions(queued(template))
  const [, , , named] = storedDecisions(queued(other))
  assert.deepEqual(same?.detail?.template, { version: 3, locale: 'en' })
  assert.deepEqual(named?.detail?.template, other)
})

test('a timeline that was stored whole is read as it stands', () => {
  const whole = [decisions[0], { at, what: 'duplicate', channel: 'sms' as const, detail: { dedup_key: key('sms') } }]
  assert.deepEqual(readDecisions(row, whole), whole)
})
