import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { defaultOptions, type Provider } from '../../src/index.ts'
import { postgresDatabase, startDatabaseServer } from '../support/engine/engine.ts'
import { eventually, setup } from '../support/setup.ts'

const users = Array.from({ length: 12 }, (_, n) => `user-${n}`)

/**
 * Pushes that fail for good, whose fallback to email falls due together with the window that gathers emails of the same
 * users. Every second user's two events have one dedup key: there the window holds the email of what the push repeats.
 */
async function fallBackAtFlush(t: { after(work: () => Promise<void>): void }, database?: Database): Promise<void> {
  const mails: string[] = []
  const provider = (channel: 'push' | 'email'): Provider => ({
    name: channel,
    channel,
    timeoutMs: 1_000,
    send: async (messages) =>
      messages.map(({ userId, notificationId }) => {
        if (channel === 'email') mails.push(`${userId} ${notificationId}`)
        return channel === 'email' ? { kind: 'accepted' } : { kind: 'permanent', code: '400', reason: 'no' }
      }),
  })
  const s = await setup({
    providers: { push: [provider('push')], email: [provider('email')] },
    options: { caps: { total: 1_000, channels: {}, priorities: {} } },
    ...(database ? { database } : {}),
  })
  t.after(s.close)
  for (const channel of ['push', 'email'])
    await s.call('PUT', `/v1/templates/photo.liked/${channel}/en`, { subject: 'Liked', body: 'By {{ actor }}' })
  const settings = { channels: ['push', 'email'], aggregation: { threshold: 9, actor: 'actor' } }
  await s.call('PUT', '/v1/event-types/photo.liked', settings)
  for (const [n, user_id] of users.entries()) {
    await s.call('PUT', `/v1/recipients/${user_id}`, { email: `${user_id}@example.com` })
    await s.call('PUT', `/v1/users/${user_id}/devices/phone`, { token: `token-${user_id}` })
    const key = n % 2 === 0 ? { dedup_key: 'like' } : {}
    const event = { event: 'photo.liked', user_id, data: { actor: 'Ann' }, ...key }
    // The push alone, gathered too; then both channels: of a repeated key only the email is gathered beside it.
    await s.call('POST', '/v1/notify', { ...event, channels: ['push'] })
    s.clock.advance(1)
    await s.call('POST', '/v1/notify', { ...event, data: { actor: 'Bob' } })
  }
  s.clock.advance(defaultOptions.aggregationDelayMs + 60_000)
  const waiting = `SELECT 1 FROM notify.pending_window UNION ALL SELECT 1 FROM notify.deferred
    UNION ALL SELECT 1 FROM notify.delivery_queue`
  await eventually(
    () => s.database.query(waiting),
    ({ rowCount }) => rowCount === 0,
  )
  assert.equal(new Set(mails).size, mails.length, 'no notification is mailed twice')
  for (const [n, user] of users.entries()) {
    const own = mails.filter((mail) => mail.startsWith(`${user} `)).length
    assert.equal(own, n % 2 === 0 ? 1 : 2, `${user}: one mail a dedup key, or one a notification`)
  }
  const { rows } = await s.database.query<{ id: string }>(
    "SELECT id FROM notify.delivery WHERE channel = 'email' AND state = 'queued' AND ended IS NULL",
  )
  assert.deepEqual(rows, [], 'nothing is left behind')
}

test('a fallback to email beside a window that holds the email sends each once', (t) => fallBackAtFlush(t))

describe('on PostgreSQL', () => {
  testWith('postgresql', 'a fallback and a flush at once send each email once', async (t) => {
    const server = await startDatabaseServer()
    t.after(() => server.stop())
    await fallBackAtFlush(t, await postgresDatabase(server))
  })
})
