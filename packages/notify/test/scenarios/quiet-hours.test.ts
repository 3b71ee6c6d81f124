import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }
const night = { quiet_hours: { start: '22:00', end: '08:00' } }

async function setupQuietHours(
  t: { after(work: () => Promise<void>): void },
  now: string,
  zoneinfo: string | undefined,
  options: object = {},
): Promise<Setup> {
  const s = await setup({ clock: manualClock(Date.parse(now)), options })
  t.after(s.close)
  await seedEventType(s)
  await s.call('PUT', '/v1/recipients/alice', { email: 'alice@example.com', ...(zoneinfo ? { zoneinfo } : {}) })
  await s.call('PUT', '/v1/users/alice/preferences/*', night)
  return s
}

const countMails = async (s: Setup): Promise<number> => (await s.call('GET', '/dev/mailbox')).body.messages.length

/** When what waits of a user wakes, once there is something that wakes later than `after`. */
async function findResumeTime(s: Setup, after: number = 0): Promise<string> {
  const { rows } = await eventually(
    () => s.database.query<{ resume_at: number }>('SELECT resume_at FROM notify.deferred'),
    ({ rows: found }) => found.length === 1 && (found[0]?.resume_at ?? 0) > after,
  )
  return new Date(rows[0]?.resume_at ?? 0).toISOString()
}

for (const [name, zone, now, morning] of [
  ['loses an hour', 'Europe/Berlin', '2026-03-28T21:30:00Z', '2026-03-29T06:00:00.000Z'],
  ['gains an hour', 'Europe/Berlin', '2026-10-24T20:30:00Z', '2026-10-25T07:00:00.000Z'],
  ['gains half an hour', 'Australia/Lord_Howe', '2026-04-04T11:30:00Z', '2026-04-04T21:30:00.000Z'],
  ['has no change', 'Asia/Kathmandu', '2026-06-01T17:00:00Z', '2026-06-02T02:15:00.000Z'],
] as const)
  test(`a message waits until 08:00 of its user in a night that ${name} (${zone})`, async (t) => {
    const s = await setupQuietHours(t, now, zone)
    const { body } = await s.call('POST', '/v1/notify', shipped)
    assert.equal(body.deliveries[0].outcome, 'deferred')
    assert.equal(await findResumeTime(s), morning)
    s.clock.set(Date.parse(morning) - 1)
    assert.deepEqual(await s.store.waiting.claimDeferred([0], 10, 60_000, s.clock.now()), [])
    s.clock.set(Date.parse(morning))
    assert.equal(
      await eventually(
        () => countMails(s),
        (count) => count > 0,
      ),
      1,
    )
  })

test('a user who moves west gets the message in their new morning, not in the old one', async (t) => {
  const s = await setupQuietHours(t, '2026-06-01T21:30:00Z', 'Europe/Berlin')
  await s.call('POST', '/v1/notify', shipped)
  const before = await findResumeTime(s)
  assert.equal(before, '2026-06-02T06:00:00.000Z')
  await s.call('PUT', '/v1/recipients/alice', { email: 'alice@example.com', zoneinfo: 'America/New_York' })
  s.clock.set(Date.parse(before))
  assert.equal(await findResumeTime(s, Date.parse(before)), '2026-06-02T12:00:00.000Z', 'it is two in the night there')
  assert.equal(await countMails(s), 0)
  s.clock.set(Date.parse('2026-06-02T12:00:00Z'))
  assert.equal(
    await eventually(
      () => countMails(s),
      (count) => count > 0,
    ),
    1,
  )
})

test('a user who moves east or removes quiet hours gets the message when due', async (t) => {
  const s = await setupQuietHours(t, '2026-06-01T21:30:00Z', 'Europe/Berlin')
  await s.call('POST', '/v1/notify', shipped)
  await s.call('PUT', '/v1/recipients/alice', { email: 'alice@example.com', zoneinfo: 'Asia/Tokyo' })
  s.clock.set(Date.parse('2026-06-02T06:00:00Z'))
  assert.equal(
    await eventually(
      () => countMails(s),
      (count) => count > 0,
    ),
    1,
  )
})

test('a user without a known zone has quiet hours in the configured zone', async (t) => {
  const s = await setupQuietHours(t, '2026-06-01T13:30:00Z', undefined, { zone: 'Asia/Tokyo' })
  await s.call('POST', '/v1/notify', shipped)
  assert.equal(await findResumeTime(s), '2026-06-01T23:00:00.000Z')
})

test('quiet hours of an event type apply to it alone, and start = end cancels those for all', async (t) => {
  const s = await setupQuietHours(t, '2026-06-01T23:30:00Z', 'UTC')
  await seedEventType(s, 'photo.liked')
  await seedEventType(s, 'news.weekly')
  await s.call('PUT', '/v1/users/alice/preferences/photo.liked', { quiet_hours: { start: '00:00', end: '00:00' } })
  await s.call('PUT', '/v1/users/alice/preferences/news.weekly', { quiet_hours: { start: '20:00', end: '12:00' } })
  const outcomes: unknown[] = []
  for (const event of ['order.shipped', 'photo.liked', 'news.weekly']) {
    const { body } = await s.call('POST', '/v1/explain', { ...shipped, event })
    outcomes.push([body.channels[0].outcome, body.decisions.at(-1).detail.until])
    const { later, until } = body.channels[0]
    if (until !== undefined)
      assert.deepEqual(
        [later.outcome, later.at, typeof later.body],
        ['queued', until, 'string'],
        'the text of the morning',
      )
  }
  assert.deepEqual(outcomes, [
    ['deferred', '2026-06-02T08:00:00.000Z'],
    ['queued', undefined],
    ['deferred', '2026-06-02T12:00:00.000Z'],
  ])
})

test('an event scheduled into the night waits for the morning, in any UTC offset', async (t) => {
  const s = await setupQuietHours(t, '2026-10-24T10:00:00Z', 'Europe/Berlin')
  const ids: string[] = []
  for (const fire_at of ['2026-10-25T02:30:00+02:00', '2026-10-25T02:30:00+01:00', '2026-10-25T01:30:00Z']) {
    const { body } = await s.call('POST', '/v1/scheduled', { fire_at, payload: shipped })
    ids.push(body.fire_at)
  }
  assert.deepEqual(ids, ['2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z', '2026-10-25T01:30:00.000Z'])
  s.clock.set(Date.parse('2026-10-25T01:30:00Z'))
  const { rows } = await eventually(
    () => s.database.query<{ resume_at: number }>('SELECT resume_at FROM notify.deferred'),
    ({ rowCount }) => rowCount === 3,
  )
  for (const { resume_at } of rows) assert.equal(new Date(resume_at).toISOString(), '2026-10-25T07:00:00.000Z')
})
