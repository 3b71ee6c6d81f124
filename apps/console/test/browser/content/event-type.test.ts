import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeEffects } from '../../../src/browser/screens/content/effects.ts'
import { faultsByField, formOf, settingsOf } from '../../../src/browser/screens/content/event-type-form.ts'
import { en } from '../../../src/browser/texts/en.ts'

const full = {
  event: 'photo.liked',
  title: 'Likes',
  priority: 'low',
  channels: ['push', 'in-app'],
  template_id: 'likes',
  aggregation: { threshold: 5, actor: 'actor.name' },
  rate_limit: { limit: 10, per_seconds: 60 },
  ttl_seconds: 300,
  tracking: { email: 'on', push: 'clicks' },
  failover_on_timeout: false,
  sensitive: false,
}

test('what a form was made of is stored again, every setting of it', () => {
  const { event: _, ...settings } = full
  assert.deepEqual(settingsOf(formOf(full)), settings)
})

test('what is left empty is left to the service', () => {
  const form = { ...formOf(undefined), channels: ['sms'] }
  assert.deepEqual(settingsOf(form), { channels: ['sms'], priority: 'normal', sensitive: false })
})

test('a tracking of every channel is shown by channel', () => {
  assert.deepEqual(formOf({ ...full, tracking: 'opens' }).tracking, {
    push: 'opens',
    email: 'opens',
    sms: 'opens',
    'in-app': 'opens',
  })
})

test('the effects of an event type are in words', () => {
  const said = describeEffects(formOf(full), en).join('\n')
  for (const words of [
    'gives way',
    'Push, In-app',
    'More than 5 within five minutes',
    'data.actor.name',
    'After 10 events in 60 s',
    '300 s after the event',
    'Push leads links',
    'Email records who opened it, and leads links',
  ])
    assert.ok(said.includes(words), `${words} is not in ${said}`)
  const critical = describeEffects({ ...formOf(undefined), priority: 'critical', channels: [], sensitive: true }, en)
  assert.match(critical.join('\n'), /Passes caps and quiet hours.*Reaches nobody.*erased after sending/s)
})

test('faults that the API names are those of fields', () => {
  const errors = [
    { pointer: '/aggregation/actor', detail: 'too long' },
    { pointer: '/channels/0', detail: 'unknown' },
    { pointer: '/template_id', detail: 'no text' },
  ]
  assert.deepEqual(faultsByField(errors), { actor: 'too long', channels: 'unknown', template_id: 'no text' })
  assert.deepEqual(faultsByField(undefined), {})
})
