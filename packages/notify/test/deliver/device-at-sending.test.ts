import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { noProvider } from '../../src/deliver/attempt.ts'
import { nextStep } from '../../src/deliver/next-step.ts'
import type { NotifyStore, OutgoingMessage, Provider, SendResult } from '../../src/index.ts'
import { uncheckedMs } from '../../src/model/erasure.ts'
import { notifyDatabase } from '../support/engine/database.ts'
import { migrateNotify, postgresNotifyStore } from '../support/engine/engine.ts'
import { fresh, policy, target } from '../support/play.ts'
import { eventually, type Setup, type SetupOptions, seedEventType, setup } from '../support/setup.ts'

const day = 86_400_000
const pushed = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['push'] }
const accepted: SendResult = { kind: 'accepted' }
const broken: SendResult = { kind: 'transient', reason: 'the provider answered 503' }
const backoff = { baseMs: 10, factor: 1, maxMs: 10 }

/** A provider of push that can be down, and what it was called with. */
function createPost() {
  const calls: OutgoingMessage[] = []
  const answer: { of: (message: OutgoingMessage) => SendResult | Promise<SendResult> } = { of: () => broken }
  const provider: Provider = {
    name: 'post',
    channel: 'push',
    timeoutMs: 1_000,
    async send(messages) {
      calls.push(...messages)
      return Promise.all(messages.map((message) => answer.of(message)))
    },
  }
  return { provider, calls, answer }
}

/** Alice with one telephone, and a provider that is down. */
async function withPhone(t: TestContext, options: SetupOptions['options'] = {}, parts: SetupOptions = {}) {
  const post = createPost()
  const mails: string[] = []
  const mail: Provider = {
    name: 'mail',
    channel: 'email',
    timeoutMs: 1_000,
    async send(messages) {
      mails.push(...messages.map(({ target }) => target.address))
      return messages.map(() => accepted)
    },
  }
  const providers = { push: [post.provider], email: [mail] }
  const s = await setup({ providers, options: { backoff, ...options }, ...parts })
  t.after(s.close)
  await seedEventType(s)
  return { s, mails, ...post }
}

const standing = async (s: Setup, id: string) => (await s.call('GET', `/v1/notifications/${id}`)).body

/** Sends Alice a push of which the first attempt fails, and holds the time so that the next one is not due. */
async function failOnce({ s, calls }: { readonly s: Setup; readonly calls: readonly unknown[] }): Promise<string> {
  const { body } = await s.call('POST', '/v1/notify', pushed)
  await eventually(
    () => standing(s, body.id),
    ({ timeline }) => timeline.some(({ what }: { what: string }) => what === 'attempt_failed'),
  )
  assert.equal(calls.length, 1)
  return body.id
}

/** Until what was read by now is so old that it is looked up again before a call. */
async function untilLookedUp(): Promise<void> {
  const begun = performance.now()
  await eventually(
    async () => performance.now() - begun,
    (passedMs) => passedMs > uncheckedMs,
  )
}

const letters = async (s: Setup, cause: string) => (await s.call('GET', `/v1/dead-letters?cause=${cause}`)).body.items

/** Lets time pass until the push has fallen back to a mail. */
async function untilMailed(s: Setup, mails: readonly string[]): Promise<void> {
  await eventually(
    async () => {
      s.clock.advance(60_000)
      return mails.length
    },
    (count) => count === 1,
  )
}

/** Every attempt waits for the clock of the test. */
const slowly = { backoff: { baseMs: 600_000, factor: 1, maxMs: 600_000 }, pushPatienceMs: 7 * day }

const changes: ReadonlyArray<readonly [what: string, change: (s: Setup) => Promise<unknown>]> = [
  ['changed hands', (s) => s.call('PUT', '/v1/users/bob/devices/phone', { token: 'token-of-alice' })],
  ['was signed out', (s) => s.call('DELETE', '/v1/users/alice/devices/phone')],
  ['has a new token', (s) => s.call('PUT', '/v1/users/alice/devices/phone', { token: 'another-token' })],
]
for (const [what, change] of changes)
  test(`a push that waits for a retry goes to no phone that ${what}, and falls back to email`, async (t) => {
    const { s, calls, answer, mails } = await withPhone(t, slowly)
    await failOnce({ s, calls })
    answer.of = () => accepted
    await change(s)
    await untilMailed(s, mails)
    assert.equal(calls.length, 1, 'no provider was called again')
    const [letter] = await letters(s, 'unregistered')
    assert.equal(letter?.detail, 'no device of the user is registered any more')
  })

test('a dead letter of a push that is replayed a week later goes to no phone that changed hands', async (t) => {
  const { s, calls, answer } = await withPhone(t)
  answer.of = () => ({ kind: 'permanent', code: '400', reason: 'no' })
  const { body } = await s.call('POST', '/v1/notify', pushed)
  const [letter] = await eventually(
    () => letters(s, 'permanent'),
    ({ length }) => length === 1,
  )
  assert.equal(letter.notification_id, body.id)
  answer.of = () => accepted
  await s.call('PUT', '/v1/users/bob/devices/phone', { token: 'token-of-alice' })
  s.clock.advance(7 * day)
  assert.equal((await s.call('POST', `/v1/dead-letters/${letter.id}/replay`)).body.replayed, 1)
  await eventually(
    () => letters(s, 'unregistered'),
    ({ length }) => length === 1,
  )
  assert.equal(calls.length, 1)
})

test('a push goes on to the devices that are still there, and says of the others that they went', async (t) => {
  const { s, calls, answer, mails } = await withPhone(t, slowly)
  await s.call('PUT', '/v1/users/alice/devices/tablet', { token: 'token-of-tablet' })
  const { body } = await s.call('POST', '/v1/notify', pushed)
  await eventually(
    () => standing(s, body.id),
    ({ timeline }) => timeline.some(({ what }: { what: string }) => what === 'attempt_failed'),
  )
  answer.of = () => accepted
  await s.call('DELETE', '/v1/users/alice/devices/phone')
  const sent = await eventually(
    async () => {
      s.clock.advance(60_000)
      return standing(s, body.id)
    },
    ({ deliveries }) => deliveries[0].state === 'sent',
  )
  assert.deepEqual(
    calls.slice(2).map(({ target }) => target.id),
    ['tablet'],
  )
  const { detail } = sent.timeline.find(({ what }: { what: string }) => what === 'sent')
  assert.deepEqual(detail.results, [
    { target: 'phone', provider: 'none', result: 'dead_token', reason: "its device is no longer the user's" },
    { target: 'tablet', provider: 'post', result: 'accepted' },
  ])
  assert.deepEqual(mails, [])
})

test('a device that was left out without a call is not marked dead: it may be registered again', () => {
  const context = { now: 0, random: 0, availability: () => [] }
  const result: SendResult = { kind: 'dead_token', reason: 'gone' }
  const stepAfter = (provider: string) =>
    nextStep({ claimed: fresh, results: [{ target, provider, result }], isMade: true }, policy, context)
  assert.deepEqual(stepAfter(noProvider), { ...stepAfter(noProvider), deadTokens: [] })
  assert.partialDeepStrictEqual(stepAfter('post'), { deadTokens: [{ token: target.address, provider: 'post' }] })
})

test('a push that waited for a free call goes to no phone that changed hands meanwhile', async (t) => {
  const { promise, resolve } = Promise.withResolvers<SendResult>()
  const { s, calls, answer, mails } = await withPhone(t, { concurrency: { push: 1, email: 1, sms: 1, 'in-app': 1 } })
  answer.of = ({ userId }) => (userId === 'carol' ? promise : accepted)
  await s.call('PUT', '/v1/users/carol/devices/phone', { token: 'token-of-carol' })
  await s.call('POST', '/v1/notify', { ...pushed, user_id: 'carol' })
  await eventually(
    async () => calls.length,
    (count) => count === 1,
  )
  const { body } = await s.call('POST', '/v1/notify', pushed)
  await eventually(
    () =>
      s.database.query('SELECT FROM notify.delivery_queue WHERE user_id = $1 AND lease_until IS NOT NULL', ['alice']),
    ({ rowCount }) => rowCount === 1,
  )
  await s.call('PUT', '/v1/users/bob/devices/phone', { token: 'token-of-alice' })
  await untilLookedUp()
  resolve(accepted)
  await untilMailed(s, mails)
  assert.deepEqual(
    calls.map(({ userId }) => userId),
    ['carol'],
  )
  assert.equal((await letters(s, 'unregistered'))[0].notification_id, body.id)
})

test('a push that took long to admit goes to no phone that changed hands meanwhile', async (t) => {
  const database = await notifyDatabase()
  const store = postgresNotifyStore(database, await migrateNotify(database))
  let claimed = 0
  let during = async () => {}
  const stalling: NotifyStore = {
    ...store,
    intake: {
      ...store.intake,
      async admit(...batch) {
        await during()
        return store.intake.admit(...batch)
      },
    },
    deliveries: {
      ...store.deliveries,
      async claim(request) {
        const result = await store.deliveries.claim(request)
        if (request.channel === 'push') claimed += result.deliveries.length
        return result
      },
    },
  }
  const caps = { total: 1_000, channels: {}, priorities: {} }
  const { s, calls, answer, mails } = await withPhone(t, { caps }, { database, store: stalling })
  answer.of = () => accepted
  for (let before = -1; before < claimed; ) {
    before = claimed
    const { body } = await s.call('POST', '/v1/notify', pushed)
    await eventually(
      () => standing(s, body.id),
      ({ deliveries }) => deliveries[0].state === 'sent',
    )
  }
  const callsBefore = calls.length
  during = async () => {
    during = async () => {}
    await s.call('PUT', '/v1/users/bob/devices/phone', { token: 'token-of-alice' })
    await untilLookedUp()
  }
  await s.call('POST', '/v1/notify', pushed)
  await untilMailed(s, mails)
  assert.equal(calls.length, callsBefore, 'what was handed over was looked up')
})
