import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Provider } from '../../src/index.ts'
import { eventually, type Setup, setup } from '../support/setup.ts'

const minute = 60_000
const window = 5 * minute
const caps = { total: 1_000_000, channels: {}, priorities: {} }
const body =
  '{% if count > 1 %}{{ count }} by {{ actor_count }}: {{ actors | names: 2 }}{% else %}one by {{ actor }}{% endif %}'

interface Scene {
  readonly s: Setup
  /** What each user received. */
  readonly texts: Map<string, string[]>
  like(user: string, actor: string | undefined, more?: object): Promise<string[]>
  /** Lets time pass, and what is due be flushed and sent. */
  pass(milliseconds: number): Promise<void>
}

async function setupAggregation(t: { after(work: () => Promise<void>): void }, threshold: number): Promise<Scene> {
  const texts = new Map<string, string[]>()
  const provider: Provider = {
    name: 'feed',
    channel: 'in-app',
    timeoutMs: 5_000,
    async send(messages) {
      for (const { userId, content } of messages) texts.set(userId, [...(texts.get(userId) ?? []), content.body])
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const s = await setup({ providers: { 'in-app': [provider] }, options: { caps } })
  t.after(s.close)
  for (const locale of ['en', 'de']) await s.call('PUT', `/v1/templates/photo.liked/in-app/${locale}`, { body })
  const aggregation = { threshold, actor: 'actor' }
  await s.call('PUT', '/v1/event-types/photo.liked', { channels: ['in-app'], aggregation })
  return {
    s,
    texts,
    async like(user, actor, more = {}) {
      const event = { event: 'photo.liked', user_id: user, data: actor === undefined ? {} : { actor }, ...more }
      const answer = await s.call('POST', '/v1/notify', event)
      return answer.body.deliveries.map(({ outcome }: { outcome: string }) => outcome)
    },
    async pass(milliseconds) {
      s.clock.advance(milliseconds)
      await eventually(
        () =>
          s.database.query(
            `SELECT 1 FROM notify.pending_window WHERE flush_at <= $1::timestamptz UNION ALL SELECT 1 FROM notify.delivery_queue`,
            [new Date(s.clock.now()).toISOString()],
          ),
        ({ rowCount }) => rowCount === 0,
      )
    },
  }
}

test('items up to the threshold are sent one by one; one more combines them', async (t) => {
  const { like, pass, texts } = await setupAggregation(t, 3)
  for (const actor of ['Ann', 'Bob', 'Cid']) {
    assert.deepEqual(await like('three', actor), ['aggregated'])
    await like('four', actor)
  }
  await like('four', 'Dan')
  await pass(window - 1)
  assert.equal(texts.size, 0, 'not before five minutes are over')
  await pass(1)
  assert.deepEqual(texts.get('three')?.toSorted(), ['one by Ann', 'one by Bob', 'one by Cid'])
  assert.deepEqual(texts.get('four'), ['4 by 4: Ann, Bob and 2 others'])
})

test('an explanation foresees what is gathered, when it is sent, and the text of then', async (t) => {
  const { s, like, pass, texts } = await setupAggregation(t, 2)
  const explain = async (actor: string, scopes?: string) => {
    const request = { event: 'photo.liked', user_id: 'eve', data: { actor } }
    return (await s.call('POST', '/v1/explain', request, scopes)).body
  }
  const flushAt = new Date(s.clock.now() + window).toISOString()
  const foreseen: string[] = []
  for (const [n, actor] of ['Ann', 'Bob', 'Ann', 'Cid'].entries()) {
    const { channels, gathered } = await explain(actor)
    const { outcome, until, body: now, later } = channels[0]
    assert.deepEqual(
      [outcome, until, now, later.at, later.outcome],
      ['aggregated', flushAt, undefined, flushAt, 'queued'],
    )
    const actors = [1, 2, 2, 3][n]
    const sent_as = n < 2 ? 'individual' : 'combined'
    assert.deepEqual(gathered, { is_open: n > 0, flush_at: flushAt, items: n + 1, actors, threshold: 2, sent_as })
    foreseen.push(later.body)
    await like('eve', actor)
    s.clock.advance(minute)
  }
  const { channels } = await explain('Dan', 'user:sue read:delivery')
  assert.equal(channels[0].later.body, body, 'who reads no personal data sees the text unfilled')
  assert.deepEqual(foreseen.slice(0, 3), ['one by Ann', 'one by Bob', '3 by 2: Ann and Bob'])
  await pass(window - 4 * minute)
  assert.deepEqual(texts.get('eve'), [foreseen[3]], 'what was foreseen last is what is sent')
})

test('every item counts towards the threshold, and the text counts each actor once', async (t) => {
  const { like, pass, texts } = await setupAggregation(t, 3)
  for (let n = 0; n < 8; n++) await like('one', 'Ann')
  for (const actor of ['Ann', 'Bob', 'Ann', 'Cid']) await like('three', actor)
  for (const actor of ['Ann', 'Ann', 'Bob']) await like('few', actor)
  for (let n = 0; n < 4; n++) await like('nobody', undefined)
  await pass(window)
  assert.deepEqual(texts.get('one'), ['8 by 1: Ann'])
  assert.deepEqual(texts.get('three'), ['4 by 3: Ann, Bob and 1 other'])
  assert.equal(texts.get('few')?.length, 3, 'three items are not above three')
  assert.equal(texts.get('nobody')?.length, 1)
})

test('events of one user and key in one batch are aggregated once, and later are duplicates', async (t) => {
  const { s, like, pass, texts } = await setupAggregation(t, 1)
  const events = ['Ann', 'Ann', 'Bob', 'Ann'].map((actor) => ({
    event: 'photo.liked',
    user_id: 'alice',
    data: { actor },
    dedup_key: `like-of-${actor}`,
  }))
  const results = await s.notify.accept(events)
  const outcomes = results.flatMap((result) =>
    'accepted' in result ? result.accepted.deliveries.map(({ outcome }) => outcome) : [],
  )
  assert.deepEqual(outcomes, ['aggregated', 'duplicate', 'aggregated', 'duplicate'])
  await pass(window)
  assert.deepEqual(texts.get('alice'), ['2 by 2: Ann and Bob'])
  assert.deepEqual(await like('alice', 'Ann', { dedup_key: 'like-of-Ann' }), ['duplicate'])
  await pass(window)
  assert.equal(texts.get('alice')?.length, 1)
})

test('a combined notification is written in the locale of its user', async (t) => {
  const { s, like, pass, texts } = await setupAggregation(t, 1)
  await s.call('PUT', '/v1/recipients/heidi', { locale: 'de-CH' })
  for (const actor of ['Ann', 'Bob', 'Cid', 'Dan']) await like('heidi', actor)
  await pass(window)
  assert.deepEqual(texts.get('heidi'), ['4 by 4: Ann, Bob und 2 weitere'])
})

type Step = { readonly actor: string; readonly key: number | undefined } | { readonly waitMs: number }

/** What a user must receive after the steps, by a model of the rule alone; the last window is flushed too. */
function modelMessages(steps: readonly Step[], threshold: number): string[] {
  const messages: string[] = []
  const keys = new Set<number>()
  let [now, opened] = [0, 0]
  let items: string[] = []
  const flush = () => {
    const actors = [...new Set(items)]
    if (items.length > threshold && items.length > 1) messages.push(`${items.length} by ${actors.length}`)
    else messages.push(...items.map((actor) => `one by ${actor}`))
    items = []
  }
  for (const step of steps) {
    if ('waitMs' in step) {
      now += step.waitMs
      if (items.length > 0 && now >= opened + window) flush()
    } else if (step.key === undefined || !keys.has(step.key)) {
      if (step.key !== undefined) keys.add(step.key)
      if (items.length === 0) opened = now
      items.push(step.actor)
    }
  }
  if (items.length > 0) flush()
  return messages.toSorted()
}

test('each like is sent once, combined or alone, in any order of likes, replays and time', async (t) => {
  const threshold = 2
  const { like, pass, texts } = await setupAggregation(t, threshold)
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        actor: fc.constantFrom('Ann', 'Bob', 'Cid', 'Dan'),
        key: fc.option(fc.nat(4), { nil: undefined }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ waitMs: fc.constantFrom(1, minute, window - 1, window) }) },
  )
  let runs = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const user = `user${runs++}`
      for (const each of steps)
        if ('waitMs' in each) await pass(each.waitMs)
        else await like(user, each.actor, each.key === undefined ? {} : { dedup_key: `k${each.key}` })
      await pass(window)
      const messages = (texts.get(user) ?? []).map((message) => message.split(':', 1)[0])
      assert.deepEqual(messages.toSorted(), modelMessages(steps, threshold))
    }),
    { numRuns: 25 },
  )
})
