import { randomUUID } from 'node:crypto'
import type { ManagementChange } from '@gatehouse/kit'
import type { Provider } from '../../src/index.ts'
import { eventually, type Setup, type SetupOptions, setup } from './setup.ts'
import { createManualTopic } from './topic/manual-topic.ts'

/** What is personal of a user, an event or an address, and must not be seen masked. */
export interface Person {
  readonly email: string
  readonly phone: string
  readonly token: string
  readonly name: string
  /** A value of the data of their events. */
  readonly value: string
  readonly dedupKey: string
}

/** What there is of one user, by id. */
export interface World {
  readonly userId: string
  readonly person: Person
  readonly notificationId: string
  readonly deadLetterId: string
  readonly invalidLetterId: string
  readonly scheduledId: string
  readonly suppressionId: string
  readonly ownSuppressionId: string
  readonly itemId: string
}

export interface Managed extends Setup {
  readonly changes: ManagementChange[]
  /** Whether the audit trail is away. */
  readonly trail: { isAway: boolean }
  /** Everything that the service may know of a new user. */
  worldOf(person: Person): Promise<World>
}

/** Providers whose answers quote everything they were sent. */
const quoting = (people: Map<string, Person>): Partial<Record<'email' | 'push' | 'sms', Provider[]>> => {
  const provider = (channel: 'email' | 'push' | 'sms', kind: 'permanent' | 'dead_token'): Provider => ({
    name: `quoting-${channel}`,
    channel,
    timeoutMs: 1_000,
    send: async (messages) =>
      messages.map(({ target, userId, content }) => {
        const person = people.get(userId)
        const reason = `550 5.1.1 <${target.address}> of ${person?.name} ${person?.phone} refuses "${content.body}" ${person?.value}`
        return kind === 'permanent'
          ? { kind, code: '550', reason, ...(channel === 'email' ? { undeliverable: 'bounced' as const } : {}) }
          : { kind, reason }
      }),
  })
  return {
    email: [provider('email', 'permanent')],
    push: [provider('push', 'dead_token')],
    sms: [provider('sms', 'permanent')],
  }
}

/** A product that is managed: an audit trail in the test's hand, and users who have some of everything. */
export async function setupManagement(options: SetupOptions = {}): Promise<Managed> {
  const changes: ManagementChange[] = []
  const trail = { isAway: false }
  const people = new Map<string, Person>()
  const { topic, deliver } = createManualTopic()
  const s = await setup({
    topic,
    providers: quoting(people),
    async recordChange(change) {
      if (trail.isAway) throw new Error('the audit trail is away')
      changes.push(change)
    },
    devMailbox: false,
    ...options,
  })
  await product(s)
  let place = 0
  return {
    ...s,
    changes,
    trail,
    async worldOf(person) {
      const userId = `user-${randomUUID()}`
      people.set(userId, person)
      const world = await liveThrough(s, userId, person, (message) => deliver(++place, message))
      changes.length = 0
      return world
    },
  }
}

/** An event type on every channel, whose texts name the data. */
async function product({ call }: Setup): Promise<void> {
  for (const channel of ['push', 'email', 'sms', 'in-app'])
    await call('PUT', `/v1/templates/order.shipped/${channel}/en`, {
      subject: 'Order {{ item }}',
      body: 'Dear {{ person.name }}, {{ item }} left.',
    })
  await call('PUT', '/v1/event-types/order.shipped', { channels: ['in-app'] })
}

async function liveThrough(
  s: Setup,
  userId: string,
  person: Person,
  deliver: (message: string) => Promise<string>,
): Promise<World> {
  const { email, phone, token, name, value, dedupKey } = person
  const { call } = s
  const data = { item: value, person: { name, mail: email }, list: [value] }
  const event = { event: 'order.shipped', user_id: userId, data }
  await call('PUT', `/v1/recipients/${userId}`, { email, phone_number: phone, locale: 'en' })
  await call('PUT', `/v1/users/${userId}/devices/phone`, { token })
  await call('PUT', `/v1/users/${userId}/devices/old`, { token: `${token}-old` })
  await call('PUT', `/v1/users/${userId}/preferences/order.shipped`, { quiet_hours: { start: '03:00', end: '03:00' } })
  const every = { ...event, dedup_key: dedupKey, channels: ['push', 'email', 'sms', 'in-app'] }
  const notificationId = (await call('POST', '/v1/notify', every)).body.id
  await call('POST', '/v1/notify', every)
  const letters = async () => (await call('GET', `/v1/dead-letters?user_id=${userId}`)).body.items
  await deliver(JSON.stringify({ ...event, data: [name, value], user_id: userId }))
  await deliver(`${JSON.stringify(event).slice(0, -1)} ${name} ${value}`)
  const found = await eventually(letters, (list) => list.length >= 4)
  const items = async () => (await call('GET', `/v1/users/${userId}/inbox`)).body.items
  const [item] = await eventually(items, (list) => list.length === 1)
  const later = { fire_at: '2090-01-01T00:00:00Z', payload: { ...event, dedup_key: `${dedupKey} later` } }
  const scheduledId = (await call('POST', '/v1/scheduled', later)).body.id
  const about = { user_id: userId, channel: 'email', address: email, detail: `${name} asked, ${phone}` }
  const suppressionId = (await call('POST', '/v1/suppressions', about)).body.id
  const own = { user_id: userId, channel: 'email', scope: 'order.shipped', reason: 'unsubscribed' }
  const ownSuppressionId = (await call('POST', '/v1/suppressions', own)).body.id
  const { items: invalid } = (await call('GET', '/v1/dead-letters?cause=invalid_message')).body
  const mail = found.find((letter: { channel?: string }) => letter.channel === 'email')
  return {
    userId,
    person,
    notificationId,
    deadLetterId: mail.id,
    invalidLetterId: invalid[0].id,
    scheduledId,
    suppressionId,
    ownSuppressionId,
    itemId: item.id,
  }
}
