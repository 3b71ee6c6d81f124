import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TimelineEntry } from '../../../src/browser/api/records.ts'
import {
  historiesOf,
  isFallback,
  isWaiting,
  kindOf,
  relationsOf,
} from '../../../src/browser/screens/deliver/notification/channel-history.ts'

const at = (ms: number) => new Date(1_700_000_000_000 + ms).toISOString()
const entry = (ms: number, what: string, channel?: string, detail?: object) =>
  ({ at: at(ms), what, ...(channel ? { channel } : {}), ...(detail ? { detail } : {}) }) as TimelineEntry

test('entries of one kind are one step, with the time since the step before', () => {
  const timeline = [
    entry(0, 'accepted'),
    entry(0, 'queued', 'email'),
    entry(200, 'attempt_failed', 'email'),
    entry(1_200, 'sent', 'email'),
    entry(5_200, 'delivered', 'email'),
    entry(9_200, 'opened', 'email'),
  ]
  const [whole, email] = historiesOf([{ channel: 'email', outcome: 'queued', state: 'opened' }], timeline)
  assert.deepEqual([whole?.channel, whole?.steps.length], [undefined, 1])
  assert.deepEqual(
    email?.steps.map(({ kind, entries, durationMs }) => [kind, entries.length, durationMs]),
    [
      ['decision', 1, 0],
      ['attempts', 2, 1_200],
      ['reports', 2, 8_000],
    ],
  )
  assert.equal(email?.durationMs, 9_200)
})

test('a replay stays among the attempts, and a new decision is a step of its own', () => {
  const timeline = [
    entry(0, 'deferred', 'sms'),
    entry(10, 'queued', 'sms'),
    entry(20, 'dead_letter', 'sms'),
    entry(30, 'replayed', 'sms'),
    entry(40, 'queued', 'sms'),
    entry(50, 'sent', 'sms'),
  ]
  const [history] = historiesOf([], timeline)
  assert.deepEqual(
    history?.steps.map(({ kind }) => kind),
    ['decision', 'attempts', 'decision', 'attempts'],
  )
})

test('what a newer server reports is shown as a decision', () => {
  assert.equal(kindOf({ what: 'invented' } as never), 'decision')
})

test('only what is not with a provider yet can be cancelled', () => {
  const waits = (outcome: string, rest: object = {}) => isWaiting([{ channel: 'email', outcome, ...rest }])
  assert.deepEqual(
    [waits('queued'), waits('queued', { state: 'queued' }), waits('deferred'), waits('aggregated')],
    [true, true, true, true],
  )
  assert.deepEqual(
    [waits('queued', { state: 'sent' }), waits('queued', { ended: 'dead_letter' }), waits('capped')],
    [false, false, false],
  )
})

test('the notifications that one is connected with are found in its timeline and deliveries', () => {
  const timeline = [
    entry(0, 'accepted', undefined, { resend_of: 'a' }),
    entry(1, 'resent', undefined, { into: 'b' }),
    entry(2, 'combined', undefined, { into: 'c' }),
    entry(3, 'queued', 'push', { delivery_id: 'x' }),
  ]
  assert.deepEqual(relationsOf([{ channel: 'sms', outcome: 'duplicate', id: 'd' }], timeline), [
    { kind: 'resendOf', id: 'a' },
    { kind: 'resentAs', id: 'b' },
    { kind: 'combinedInto', id: 'c' },
    { kind: 'duplicateOf', deliveryId: 'd' },
  ])
})

test('an email that was queued after the push had failed for good is its fallback', () => {
  const push = [entry(0, 'queued', 'push'), entry(9, 'dead_letter', 'push')]
  const later = historiesOf([], [...push, entry(12, 'queued', 'email')])
  const both = historiesOf([], [...push, entry(0, 'queued', 'email')])
  const fallbacks = (histories: typeof later) =>
    histories.filter((history) => isFallback(history, histories)).map(({ channel }) => channel)
  assert.deepEqual([fallbacks(later), fallbacks(both)], [['email'], []])
})
