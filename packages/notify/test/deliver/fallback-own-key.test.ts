import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type Database, manualClock } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { defaultOptions, type Provider } from '../../src/index.ts'
import { type DatabaseServer, postgresDatabase, startDatabaseServer } from '../support/engine/engine.ts'
import { eventually, type SetupOptions, seedEventType, setup } from '../support/setup.ts'

const evening = Date.parse('2026-06-01T21:55:00Z')
const tenAtNight = Date.parse('2026-06-01T22:00:00Z')
const morning = Date.parse('2026-06-02T08:00:00Z')
const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, dedup_key: 'once' }

/** Pushes fail for good, as of `failsAt` where it is set; tells of what notifications the emails are. */
async function failingPush(t: TestContext, { settings = {}, ...options }: SetupOptions & { settings?: object } = {}) {
  const clock = manualClock(evening)
  const mails: string[] = []
  const failsAt: { now?: number } = {}
  const push: Provider = {
    name: 'push',
    channel: 'push',
    timeoutMs: 1_000,
    async send(messages) {
      if (failsAt.now !== undefined) clock.set(failsAt.now)
      return messages.map(() => ({ kind: 'permanent', code: '400', reason: 'no' }))
    },
  }
  const email: Provider = {
    name: 'email',
    channel: 'email',
    timeoutMs: 1_000,
    async send(messages) {
      mails.push(...messages.map(({ notificationId }) => notificationId))
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const s = await setup({ clock, providers: { push: [push], email: [email] }, ...options })
  t.after(s.close)
  await seedEventType(s, 'order.shipped', settings)
  const entries = async (id: string): Promise<string[]> =>
    (await s.call('GET', `/v1/notifications/${id}`)).body.timeline.map(
      ({ what, channel = '' }: { what: string; channel?: string }) => `${what} ${channel}`,
    )
  const until = (id: string, wanted: RegExp) =>
    eventually(
      () => entries(id),
      (all) => all.some((entry) => wanted.test(entry)),
    )
  return { ...s, clock, mails, failsAt, entries, until }
}

/** The push fails as the user's quiet hours begin: its fallback waits for the morning, with its key used. */
async function fallBackAtNight(t: TestContext, database?: Database): Promise<void> {
  const s = await failingPush(t, database ? { database } : {})
  await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: { start: '22:00', end: '08:00' } })
  s.failsAt.now = tenAtNight
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['push'] })
  await s.until(body.id, /^deferred email/)
  const { body: again } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['email'] })
  assert.deepEqual([again.id, again.deliveries[0].outcome], [body.id, 'duplicate'], 'its key is used as it waits')
  s.clock.set(morning)
  await s.until(body.id, /^(sent|duplicate) email/)
  assert.deepEqual(s.mails, [body.id])
  const since = (await s.entries(body.id)).slice(-5)
  assert.deepEqual(since, ['quiet_hours ', 'deferred email', 'duplicate ', 'queued email', 'sent email'])
}

/** The window closes with an email that the cap leaves out: no cap counts the fallback of the push beside it. */
async function fallBackAfterCap(t: TestContext, database?: Database): Promise<void> {
  const s = await failingPush(t, {
    options: { caps: { total: 99, channels: { email: 0 }, priorities: {} } },
    settings: { aggregation: { threshold: 3, actor: 'actor' } },
    ...(database ? { database } : {}),
  })
  const { body } = await s.call('POST', '/v1/notify', { ...shipped, channels: ['push', 'email'] })
  s.clock.advance(defaultOptions.aggregationDelayMs)
  await s.until(body.id, /^capped email/)
  await s.until(body.id, /^(sent|duplicate) email/)
  assert.deepEqual(s.mails, [body.id])
}

test('a fallback that quiet hours defer is sent in the morning, whatever its dedup key', (t) => fallBackAtNight(t))

test('a fallback is no duplicate of the gathered email that a cap left out', (t) => fallBackAfterCap(t))

describe('on PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())
  const fresh = () => postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))

  testWith('postgresql', 'a fallback that quiet hours defer is sent in the morning', async (t) => {
    await fallBackAtNight(t, await fresh())
  })

  testWith('postgresql', 'a fallback is no duplicate of a gathered email of its own', async (t) => {
    await fallBackAfterCap(t, await fresh())
  })
})
