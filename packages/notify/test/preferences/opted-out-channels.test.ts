import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { embeddedDatabase } from '../support/engine/embedded.ts'
import {
  type DatabaseServer,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
} from '../support/engine/engine.ts'
import { asForm, pathOf, readShownLinks, setupMailLinks } from '../support/providers/mail-links.ts'
import { type Setup, type SetupOptions, seedEventType, setup } from '../support/setup.ts'

const own = 'user:alice write:preferences'
const number = '+14155550100'

interface Shown {
  readonly event: string
  readonly channels: ReadonlyArray<{ readonly channel: string; readonly on: boolean }>
}

/** For which event types a channel is shown as on. */
async function shownOn(s: Pick<Setup, 'call'>, channel: string): Promise<string[]> {
  const { body } = await s.call('GET', '/v1/users/alice/choices', undefined, own)
  const isOn = ({ channels }: Shown) => channels.some((each) => each.channel === channel && each.on)
  return body.event_types
    .filter(isOn)
    .map(({ event }: Shown) => event)
    .sort()
}

/** What becomes of a text of an event type. */
async function outcomeOf(s: Pick<Setup, 'call'>, event: string): Promise<string> {
  const { body } = await s.call('POST', '/v1/notify', { event, user_id: 'alice', data: {}, channels: ['sms'] })
  return body.deliveries[0].outcome
}

/** What the answer of a provider to an opted-out number leaves. */
const stop = (s: Pick<Setup, 'call'>, more: object = {}) =>
  s.call('POST', '/v1/suppressions', {
    user_id: 'alice',
    channel: 'sms',
    address: number,
    reason: 'unsubscribed',
    detail: '21610',
    ...more,
  })

const turnOn = (s: Pick<Setup, 'call'>, event: string) =>
  s.call('PATCH', `/v1/users/alice/choices/${event}`, { on: ['sms'] }, own)

async function setupEventTypes(
  t: { after(end: () => Promise<void>): void },
  options: SetupOptions = {},
): Promise<Setup> {
  const s = await setup(options)
  t.after(() => s.close())
  for (const event of ['news', 'order.shipped', 'survey']) await seedEventType(s, event)
  await seedEventType(s, 'security.alert', { priority: 'critical' })
  return s
}

test('texts are off after a STOP, and turning on those of one event type leaves the others off', async (t) => {
  const s = await setupEventTypes(t)
  await stop(s)
  assert.deepEqual(await shownOn(s, 'sms'), ['security.alert'], 'what is critical is still sent')
  assert.equal(await outcomeOf(s, 'order.shipped'), 'undeliverable')
  await turnOn(s, 'security.alert')
  assert.deepEqual(await shownOn(s, 'sms'), ['security.alert'])
  await turnOn(s, 'order.shipped')
  assert.deepEqual(await shownOn(s, 'sms'), ['order.shipped', 'security.alert'])
  const outcomes = ['news', 'order.shipped', 'survey'].map((event) => outcomeOf(s, event))
  assert.deepEqual(await Promise.all(outcomes), ['undeliverable', 'queued', 'undeliverable'])
  const { items } = (await s.call('GET', '/v1/suppressions?user_id=alice&scope=news')).body
  assert.deepEqual(
    items.map(({ address, reason, detail }: Record<string, string>) => [address, reason, detail]),
    [[number, 'unsubscribed', '21610']],
  )
  await turnOn(s, 'news')
  assert.deepEqual(await shownOn(s, 'sms'), ['news', 'order.shipped', 'security.alert'])
  assert.equal(await outcomeOf(s, 'news'), 'queued')
})

test('a STOP counts for its number and until its end, on the page as in what is sent', async (t) => {
  const s = await setupEventTypes(t)
  await stop(s, { address: '+14155550199' })
  assert.ok((await shownOn(s, 'sms')).includes('news'), 'another number')
  await stop(s, { expires_at: new Date(s.clock.now() + 1_000).toISOString() })
  assert.ok(!(await shownOn(s, 'sms')).includes('news'))
  s.clock.advance(2_000)
  assert.ok((await shownOn(s, 'sms')).includes('news'), 'it has ended')
  await turnOn(s, 'news')
  assert.deepEqual([await outcomeOf(s, 'news'), await outcomeOf(s, 'survey')], ['queued', 'queued'])
})

test('the preference page shows texts as off after a STOP, and turns them on again', async (t) => {
  const s = await setupMailLinks(t)
  await seedEventType(s, 'news')
  const url = pathOf((await s.mail()).text, '/preferences/')
  await stop(s)
  const checked = (page: string) => [...page.matchAll(/name="on:([\w.]+)" value="sms" checked/g)].map(([, on]) => on)
  const { body: page } = await s.http.inject({ url })
  assert.deepEqual(checked(page), [])
  const form = new URLSearchParams([...readShownLinks(page), ['on:order.shipped', 'sms']])
  const saved = await s.http.inject({ method: 'POST', url, headers: asForm, payload: form.toString() })
  assert.deepEqual(checked(saved.body), ['order.shipped'])
  assert.deepEqual([await outcomeOf(s, 'order.shipped'), await outcomeOf(s, 'news')], ['queued', 'undeliverable'])
})

test('who opted out of one channel is not shown as unsubscribed from everything', async (t) => {
  const s = await setupEventTypes(t)
  await s.call('POST', '/v1/suppressions', { user_id: 'alice', channel: 'email', reason: 'unsubscribed' })
  const { body } = await s.call('GET', '/v1/users/alice/choices', undefined, own)
  assert.equal(body.unsubscribed, false)
  assert.deepEqual(await shownOn(s, 'email'), ['security.alert'])
  assert.equal((await shownOn(s, 'push')).length, 4)
})

test('subscribing again that fails in the middle lifts nothing, and can be repeated', async (t) => {
  // A distributed table has no trigger.
  const s = await setupEventTypes(t, { database: await embeddedDatabase() })
  const all = (unsubscribed: boolean) => s.call('PUT', '/v1/users/alice/choices', { unsubscribed }, own)
  await all(true)
  await s.database.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no more space'; END $$`)
  await s.database.query(`
    CREATE TRIGGER refuse BEFORE DELETE ON notify.suppression
       FOR EACH ROW WHEN (OLD.channel = 'push') EXECUTE FUNCTION refuse()`)
  assert.equal((await all(false)).status, 500)
  assert.equal((await s.call('GET', '/v1/users/alice/choices', undefined, own)).body.unsubscribed, true)
  assert.equal((await s.call('GET', '/v1/suppressions?user_id=alice')).body.items.length, 3, 'nothing is lifted')
  await s.database.query('DROP TRIGGER refuse ON notify.suppression')
  assert.equal((await all(false)).body.unsubscribed, false)
  assert.deepEqual((await s.call('GET', '/v1/suppressions?user_id=alice')).body.items, [])
})

describe('opted-out channels on PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  testWith('postgresql', 'two event types that are turned on at once after a STOP are both on', async () => {
    const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
    await migrateNotify(database)
    const { preferences, suppressions } = postgresNotifyStore(database)
    const events = ['a', 'b', 'c']
    for (let n = 0; n < 20; n++) {
      const userId = `user-${n}`
      const entry = { userId, channel: 'sms', address: number, scope: '*', reason: 'unsubscribed' } as const
      await suppressions.add([entry], 0)
      const turn = (event: string) => {
        const others = events.filter((each) => each !== event)
        return preferences.switchChannels(userId, event, { on: ['sms'], off: [], otherwise: [], others }, 0)
      }
      await Promise.all([turn('a'), turn('b')])
      const left = await suppressions.list({ userId }, 10, undefined, 0)
      assert.deepEqual(
        left.map(({ scope }) => scope),
        ['c'],
      )
    }
    await database.close()
  })
})
