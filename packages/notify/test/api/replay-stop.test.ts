import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import type { Provider, SendResult } from '../../src/index.ts'
import { postgresDatabase, startDatabaseServer } from '../support/engine/engine.ts'
import { claimDue } from '../support/processes/claims.ts'
import { eventually, type Setup, type SetupOptions, seedEventType, setup } from '../support/setup.ts'

const caps = { total: 1_000, channels: {}, priorities: {} }
const rejection: SendResult = { kind: 'permanent', code: '550', reason: 'no such mailbox' }
const buckets = [0, 1, 2, 3]

interface Scene {
  readonly s: Setup
  /** Whom the provider was called for since it accepts. */
  readonly sent: string[]
  accept(): void
  replay(body: object): Promise<{ replayed: number; batch_id: string }>
  progress(batchId: string): Promise<Record<string, unknown>>
}

/** Six mails that were rejected, of users in several buckets. */
async function scene(options: SetupOptions = {}): Promise<Scene> {
  let answer = rejection
  const sent: string[] = []
  const provider: Provider = {
    name: 'post',
    channel: 'email',
    timeoutMs: 1_000,
    send: async (messages) =>
      messages.map(({ userId }) => {
        if (answer.kind === 'accepted') sent.push(userId)
        return answer
      }),
  }
  const s = await setup({ tables: { buckets: 4 }, providers: { email: [provider] }, options: { caps }, ...options })
  await seedEventType(s)
  for (let n = 0; n < 6; n++) {
    const user_id = `user-${n}`
    await s.call('PUT', `/v1/recipients/${user_id}`, { email: `${user_id}@example.com` })
    await s.call('POST', '/v1/notify', { event: 'order.shipped', user_id, data: { order_id: n }, channels: ['email'] })
  }
  await eventually(
    () => s.call('GET', '/v1/dead-letters'),
    ({ body }) => body.items.length === 6,
  )
  await s.call('DELETE', '/v1/suppressions?scope=*')
  return {
    s,
    sent,
    accept: () => {
      answer = { kind: 'accepted' }
    },
    replay: async (body) => (await s.call('POST', '/v1/dead-letters/replay', body)).body,
    progress: async (batchId) => (await s.call('GET', `/v1/replays/${batchId}`)).body,
  }
}

const letters = async (s: Setup) => (await s.call('GET', '/v1/dead-letters')).body.items

test('a dry run counts what a replay or a discard would change, and changes nothing', async (t) => {
  const { s } = await scene()
  t.after(s.close)
  const post = (what: string, body: object) => s.call('POST', `/v1/dead-letters/${what}`, { ...body, dry_run: true })
  assert.deepEqual((await post('replay', {})).body, { matched: 6, replayed: 0 })
  assert.deepEqual((await post('discard', { user_id: 'user-1' })).body, { matched: 1, discarded: 0 })
  assert.deepEqual((await post('discard', { limit: 2 })).body, { matched: 2, discarded: 0 })
  await s.database.query("UPDATE notify.dead_letter SET expires_at = $1 WHERE user_id < 'user-2'", [
    new Date(s.clock.now()).toISOString(),
  ])
  assert.deepEqual((await post('replay', {})).body, { matched: 6, replayed: 0, expired: 2 })
  assert.equal((await letters(s)).length, 6)
})

test('a rate whose last letter would be due in months is refused, and nothing goes back', async (t) => {
  const { s } = await scene()
  t.after(s.close)
  const before = await letters(s)
  const at = '9999-12-31T23:59:59Z'
  for (const payload of [{ rate_per_second: 1e-12 }, { rate_per_second: 1e-300 }, { rate_per_second: 1, at }]) {
    const { status, body } = await s.call('POST', '/v1/dead-letters/replay', payload)
    assert.deepEqual([status, body.errors?.[0]?.pointer], [400, '/rate_per_second'])
  }
  assert.deepEqual(await letters(s), before)
})

test('a stopped replay gives back what was not sent, as it was, and each can be replayed again', async (t) => {
  const { s, sent, accept, replay, progress } = await scene()
  t.after(s.close)
  const before = await letters(s)
  accept()
  const { replayed, batch_id: batchId } = await replay({ rate_per_second: 1 })
  assert.equal(replayed, 6)
  s.clock.advance(1_000)
  await eventually(
    async () => sent.length,
    (count) => count === 2,
  )
  await eventually(
    () => progress(batchId),
    (now) => now.sent === 2,
  )
  assert.deepEqual((await s.call('POST', `/v1/replays/${batchId}/stop`)).body, { stopped: 4 })
  const left = await letters(s)
  const unsent = before.filter(({ user_id }: { user_id: string }) => !sent.includes(user_id))
  assert.deepEqual(left, unsent, 'with their cause, detail and time')
  const stopped = await progress(batchId)
  assert.deepEqual([stopped.sent, stopped.waiting, stopped.dead], [2, 0, 4])
  assert.equal(typeof stopped.stopped_at, 'string')
  const { body } = await s.call('GET', `/v1/notifications/${left[0].notification_id}`)
  assert.deepEqual(body.timeline.at(-1).what, 'replay_stopped')
  assert.equal(body.deliveries[0].ended, 'dead_letter')
  s.clock.advance(60_000)
  assert.deepEqual(
    (await s.call('POST', `/v1/replays/${batchId}/stop`)).body,
    { stopped: 0 },
    'nothing is left to stop',
  )
  assert.equal((await replay({})).replayed, 4)
  await eventually(
    async () => sent.length,
    (count) => count === 6,
  )
  assert.equal(new Set(sent).size, 6, 'nobody got it twice')
  assert.deepEqual((await s.call('POST', `/v1/replays/${batchId}/stop`)).body, { stopped: 0 })
  const unknown = '019a205c-cc20-7a27-aaca-4b0e3f272052'
  assert.equal((await s.call('POST', `/v1/replays/${unknown}/stop`)).status, 404)
  assert.equal((await s.call('POST', `/v1/replays/${batchId}/stop`, undefined, 'read:delivery')).status, 403)
})

test('a stop gives back what was to be planned or scheduled, and nothing of another replay', async (t) => {
  const { s, replay } = await scene()
  t.after(s.close)
  const at = new Date(s.clock.now() + 3_600_000).toISOString()
  await s.database.query("UPDATE notify.dead_letter SET message = NULL, cause = 'template' WHERE user_id = 'user-0'")
  await s.database.query(
    `UPDATE notify.dead_letter SET channel = NULL, notification_id = NULL, cause = 'failed_schedule',
            message = '{"request":{"event":"order.shipped","user_id":"user-1","data":{}}}' WHERE user_id = 'user-1'`,
  )
  const before = await letters(s)
  const one = await replay({ user_id: 'user-5', at })
  const rest = await replay({ at })
  assert.deepEqual([one.replayed, rest.replayed], [1, 5])
  const waits = async (table: string) => (await s.database.query(`SELECT 1 FROM notify.${table}`)).rowCount
  assert.deepEqual([await waits('deferred'), await waits('scheduled'), await waits('delivery_queue')], [1, 1, 4])
  assert.deepEqual((await s.call('POST', `/v1/replays/${rest.batch_id}/stop`)).body, { stopped: 5 })
  assert.deepEqual([await waits('deferred'), await waits('scheduled'), await waits('delivery_queue')], [0, 0, 1])
  const others = before.filter(({ user_id }: { user_id: string }) => user_id !== 'user-5')
  assert.deepEqual(await letters(s), others)
})

test('a stop gives back what quiet hours deferred when it was planned again', async (t) => {
  const clock = manualClock(Date.parse('2026-06-01T12:00:00Z'))
  const { s, sent, accept, replay } = await scene({ clock })
  t.after(s.close)
  await s.database.query("UPDATE notify.dead_letter SET message = NULL, cause = 'template' WHERE user_id = 'user-0'")
  const [before] = (await letters(s)).filter(({ user_id }: { user_id: string }) => user_id === 'user-0')
  await s.call('PUT', '/v1/users/user-0/preferences/*', { quiet_hours: { start: '11:00', end: '13:00' } })
  accept()
  const { replayed, batch_id: batchId } = await replay({ user_id: 'user-0' })
  assert.equal(replayed, 1)
  const morning = Date.parse('2026-06-01T13:00:00Z')
  const deferred = () => s.database.query<{ resume_at: number }>('SELECT resume_at FROM notify.deferred')
  await eventually(deferred, ({ rows }) => rows[0]?.resume_at === morning)
  clock.advance(60_000)
  await s.call('PUT', '/v1/users/user-0/preferences/*', { quiet_hours: { start: '11:00', end: '14:00' } })
  clock.set(morning)
  await eventually(deferred, ({ rows }) => rows[0]?.resume_at === morning + 3_600_000)
  assert.deepEqual((await s.call('POST', `/v1/replays/${batchId}/stop`)).body, { stopped: 1 }, 'and again')
  assert.equal((await deferred()).rowCount, 0)
  assert.deepEqual(
    (await letters(s)).find(({ user_id }: { user_id: string }) => user_id === 'user-0'),
    before,
  )
  assert.deepEqual(sent, [])
})

for (const [what, attempts] of [
  ['is sent again as it was', 1],
  ['is rendered again, as nobody tried it', 0],
] as const)
  test(`a stop gives back what was planned again; it ${what}`, async (t) => {
    let answer: SendResult = rejection
    const provider: Provider = {
      name: 'post',
      channel: 'email',
      timeoutMs: 1_000,
      send: async (messages) => messages.map(() => answer),
    }
    const { s, replay } = await scene({ providers: { email: [provider] } })
    t.after(s.close)
    await s.database.query("UPDATE notify.dead_letter SET message = NULL, cause = 'template' WHERE user_id = 'user-0'")
    answer = { kind: 'transient', reason: '503', retryAfterMs: 600_000 }
    const { batch_id: batchId } = await replay({ user_id: 'user-0' })
    await eventually(
      () => s.database.query('SELECT FROM notify.delivery_queue WHERE failures = 1 AND lease_until IS NULL'),
      ({ rowCount }) => rowCount === 1,
    )
    await s.database.query('UPDATE notify.delivery_queue SET attempt = $1', [attempts])
    assert.deepEqual((await s.call('POST', `/v1/replays/${batchId}/stop`)).body, { stopped: 1 })
    const { rows } = await s.database.query(
      "SELECT message IS NOT NULL AS written FROM notify.dead_letter WHERE user_id = 'user-0'",
    )
    assert.deepEqual(rows, [{ written: attempts > 0 }])
    const causes = (await letters(s)).map(({ user_id, cause }: Record<string, string>) => `${user_id} ${cause}`)
    assert.deepEqual(causes.toSorted()[0], 'user-0 template')
  })

describe('on PostgreSQL', () => {
  testWith('postgresql', 'of a stop and the workers at once each letter goes to one', async (t) => {
    const server = await startDatabaseServer()
    t.after(() => server.stop())
    const { s, replay } = await scene({ database: await postgresDatabase(server) })
    t.after(s.close)
    await s.notify.stop()
    for (let round = 0; round < 10; round++) {
      const { replayed, batch_id: batchId } = await replay({})
      assert.equal(replayed, 6)
      const now = s.clock.now()
      const claim = () => claimDue(s.store.deliveries, { channel: 'email', now, limit: 2, buckets, leaseMs: 60_000 })
      const [first, stopped, second] = await Promise.all([
        claim(),
        s.store.deadLetters.stopReplay(batchId, now),
        claim(),
      ])
      const claimed = new Set([...first, ...second].map(({ deliveryId }) => deliveryId))
      const dead = (await letters(s)).map(({ id }: { id: string }) => id)
      assert.equal(claimed.size + dead.length, 6, `round ${round}: ${claimed.size} claimed, ${stopped} stopped`)
      assert.ok(dead.every((id: string) => !claimed.has(id)))
      await s.store.deliveries.record(
        [...first, ...second].map((each) => ({
          claimed: each,
          at: now,
          next: { kind: 'dead', cause: 'permanent', detail: 'no', fallback: false },
          what: 'dead_letter',
          detail: {},
          deadTokens: [],
        })),
      )
      assert.equal((await letters(s)).length, 6)
    }
  })
})
