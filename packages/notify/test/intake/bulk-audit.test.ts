import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type Managed, setupManagement } from '../support/management.ts'

const owner = 'user:olga role:gatehouse-owner admin:notifications'
const digestOf = (ids: readonly string[]) => createHash('sha256').update(ids.join('\n')).digest('hex')

/** Sends events as the management. */
async function sendAll(s: Managed, events: readonly object[]) {
  s.changes.length = 0
  const headers = { authorization: `Bearer ${owner}`, 'content-type': 'application/x-ndjson' }
  const payload = events.map((event) => JSON.stringify(event)).join('\n')
  const { body, statusCode } = await s.http.inject({ method: 'POST', url: '/v1/notify/bulk', headers, payload })
  assert.equal(statusCode, 200, body)
  const answers = body.trim().split('\n')
  return answers.map((line) => JSON.parse(line) as { readonly status: number; readonly id: string })
}

test('the audit trail says what was sent in bulk to whom, and what came of it', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  const userIds = Array.from({ length: 300 }, (_, n) => `u${String(n).padStart(3, '0')}`)
  const eventOf = (user_id: string) => ({ event: 'order.shipped', user_id, data: { secret: 'a present' } })
  const events = [
    ...userIds.map(eventOf),
    { ...eventOf('u000'), channels: ['in-app'], dedup_key: 'the key' },
    { event: 'unknown.event', user_id: 'u001', data: {} },
    { event: 'order.shipped' },
  ]
  const answers = await sendAll(s, events)
  const [before = assert.fail(), result = assert.fail(), ...more] = s.changes
  assert.deepEqual(more, [])
  assert.equal(before.action, 'notifications.sendBulk')
  const { user_ids: shown, ...rest } = before.after as Record<string, unknown>
  assert.deepEqual(rest, {
    count: 303,
    at: 'now',
    events: [
      { event: 'order.shipped', count: 301 },
      { event: 'unknown.event', count: 1 },
    ],
    event_types: 2,
    channels: ['in-app'],
    recipients: 300,
    user_ids_sha256: digestOf(userIds),
  })
  assert.deepEqual(shown, userIds.slice(0, 100), 'the first of them')
  const made = answers.filter(({ status }) => status === 202).map(({ id }) => id)
  assert.equal(made.length, 301)
  assert.equal(result.action, 'notifications.sentBulk')
  assert.deepEqual(
    { ...result.after },
    { accepted: 301, refused: 2, ids: made.slice(0, 100), ids_sha256: digestOf(made) },
  )
  assert.doesNotMatch(JSON.stringify(s.changes), /a present|the key/)
})

test('what is recorded of a bulk request is bounded, whatever is in it', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  const long = (n: number) => `${n}`.padStart(100, 'x')
  const events = Array.from({ length: 5_000 }, (_, n) => ({ event: `e${n}`, user_id: long(n), data: {} }))
  await sendAll(s, events)
  assert.ok(JSON.stringify(s.changes).length < 20_000)
  assert.equal(s.changes[0]?.after?.event_types, 5_000)
})

test('a bulk request of which the result is not recorded is answered all the same', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  const audited = s.changes
  // The trail goes away while the events are sent.
  const push = audited.push.bind(audited)
  audited.push = (...changes) => {
    const length = push(...changes)
    s.trail.isAway = true
    return length
  }
  const answers = await sendAll(s, [{ event: 'order.shipped', user_id: 'zelda', data: {} }])
  assert.equal(answers[0]?.status, 202)
  assert.deepEqual(
    audited.map(({ action }) => action),
    ['notifications.sendBulk'],
  )
})
