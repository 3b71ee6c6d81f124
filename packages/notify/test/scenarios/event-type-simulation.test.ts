import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const night = { start: '22:00', end: '08:00' }
const path = '/v1/event-types/photo.liked/simulate'
const likes = { channels: ['email'], aggregation: { threshold: 2, actor: 'actor' } }

/** The evening before Berlin loses an hour: three people like a photo, two later on, one in the night. */
const events = [
  ['2026-03-28T19:00:00Z', 'Ann'],
  ['2026-03-28T19:01:00Z', 'Ben'],
  ['2026-03-28T19:01:30Z', 'Ann'],
  ['2026-03-28T20:57:00Z', 'Ann'],
  ['2026-03-28T20:58:00Z', 'Cem'],
  ['2026-03-28T23:30:00Z', 'Dee'],
].map(([at = '', actor]) => ({ at, user_id: 'alice', data: { order_id: actor, actor } }))

async function startAt(t: { after(work: () => Promise<void>): void }, now: string): Promise<Setup> {
  const s = await setup({ clock: manualClock(Date.parse(now)) })
  t.after(s.close)
  return s
}

test('a day of events in three zones: what is combined, and what waits for which morning', async (t) => {
  const s = await startAt(t, '2026-03-28T00:00:00Z')
  const zones = ['Europe/Berlin', 'Asia/Tokyo', 'America/New_York']
  const { status, body } = await s.call('POST', path, {
    ...{ settings: likes, quiet_hours: night, time_zones: zones, events },
  })
  assert.equal(status, 200)
  assert.deepEqual(
    body.zones.map(({ time_zone: zone, messages }: Zone) => [zone, messages.map(shortForm)]),
    [
      [
        'Europe/Berlin',
        [
          'combined of 0,1,2 at 2026-03-28T19:05:00.000Z',
          'individual of 3 at 2026-03-29T06:00:00.000Z',
          'individual of 4 at 2026-03-29T06:00:00.000Z',
          'individual of 5 at 2026-03-29T06:00:00.000Z',
        ],
      ],
      [
        'Asia/Tokyo',
        [
          'combined of 0,1,2 at 2026-03-28T23:00:00.000Z',
          'individual of 3 at 2026-03-28T23:00:00.000Z',
          'individual of 4 at 2026-03-28T23:00:00.000Z',
          'individual of 5 at 2026-03-28T23:35:00.000Z',
        ],
      ],
      [
        'America/New_York',
        [
          'combined of 0,1,2 at 2026-03-28T19:05:00.000Z',
          'individual of 3 at 2026-03-28T21:02:00.000Z',
          'individual of 4 at 2026-03-28T21:02:00.000Z',
          'individual of 5 at 2026-03-28T23:35:00.000Z',
        ],
      ],
    ],
  )
  assert.deepEqual(body.zones[0].quiet, [{ from: '2026-03-28T21:00:00.000Z', until: '2026-03-29T06:00:00.000Z' }])
  assert.deepEqual(
    [body.zones[0].messages[0].actors, body.zones[0].messages[1].gathered_until],
    [2, '2026-03-28T21:02:00.000Z'],
  )
})

for (const [name, settings] of [
  ['gathered', likes],
  ['sent one by one', { channels: ['email'] }],
  ['critical', { channels: ['email'], priority: 'critical' }],
  ['gathered, with an hour to live', { ...likes, ttl_seconds: 3_600 }],
  ['gathered, with three minutes to live', { ...likes, ttl_seconds: 180 }],
] as const)
  test(`what is simulated is what happens when the events are sent: ${name}`, async (t) => {
    const s = await startAt(t, '2026-03-28T18:00:00Z')
    await seedEventType(s, 'photo.liked', settings)
    const zoneinfo = 'Europe/Berlin'
    await s.call('PUT', '/v1/recipients/alice', { email: 'alice@example.com', zoneinfo })
    await s.call('PUT', '/v1/users/alice/preferences/*', { quiet_hours: night })
    const { body } = await s.call('POST', path, {
      ...{ settings, quiet_hours: night, time_zones: [zoneinfo], events },
    })
    const sent = body.zones[0].messages.filter(({ outcome }: Message) => outcome === 'sent') as Message[]
    const moments = [...events, ...body.zones[0].messages].map(({ at }: { at: string }) => Date.parse(at))
    for (const moment of [...new Set(moments)].toSorted((one, other) => one - other)) {
      s.clock.set(moment)
      // What is gathered leaves before the next event comes, as it does where time passes by itself.
      await eventually(
        () => s.database.query('SELECT FROM notify.pending_window WHERE flush_at <= $1', [new Date(moment)]),
        ({ rowCount }) => rowCount === 0,
      )
      for (const { at, ...event } of events)
        if (Date.parse(at) === moment) await s.call('POST', '/v1/notify', { ...event, event: 'photo.liked' })
      const due = sent.filter(({ at }) => Date.parse(at) <= moment).length
      await eventually(
        () => readMails(s),
        (mails) => mails.length >= due,
      )
    }
    const mails = await readMails(s)
    assert.deepEqual(mails.map(({ at }) => at).toSorted(), sent.map(({ at }) => at).toSorted())
  })

test('what is wrong with a simulation is named', async (t) => {
  const s = await startAt(t, '2026-03-28T18:00:00Z')
  const valid = { settings: likes, time_zones: ['UTC'], events: [{ at: '2026-03-28T19:00:00Z' }] }
  const faults = [
    [{ time_zones: ['UTC', 'Europe/Atlantis'] }, '/time_zones/1'],
    [{ time_zones: ['UTC', 'Asia/Tokyo', 'Asia/Seoul', 'Asia/Kolkata'] }, '/time_zones'],
    [{ events: [{ at: '2026-02-30T19:00:00Z' }] }, '/events/0/at'],
    [{ events: [{ at: '2026-01-01T00:00:00Z' }, { at: '2026-02-02T00:00:01Z' }] }, '/events'],
    [{ events: [] }, '/events'],
    [{ quiet_hours: { start: '25:00', end: '08:00' } }, '/quiet_hours/start'],
    [{ settings: { channels: ['fax'] } }, '/settings/channels/0'],
  ] as const
  for (const [fault, pointer] of faults) {
    const { status, body } = await s.call('POST', path, { ...valid, ...fault })
    assert.ok(status === 400 || status === 422, `${status} for ${pointer}`)
    assert.equal(body.errors[0].pointer, pointer)
  }
})

test('who may read the settings may simulate, and nobody else', async (t) => {
  const s = await startAt(t, '2026-03-28T18:00:00Z')
  const simulation = { settings: likes, time_zones: ['UTC'], events: [{ at: '2026-03-28T19:00:00Z' }] }
  const statusFor = async (scopes: string) => (await s.call('POST', path, simulation, scopes)).status
  assert.equal(await statusFor('read:settings'), 200)
  assert.equal(await statusFor('user:alice write:notifications'), 403)
  assert.equal((await s.http.inject({ method: 'POST', url: path, payload: simulation })).statusCode, 401)
})

interface Message {
  readonly at: string
  readonly outcome: string
  readonly sent_as: string
  readonly events: readonly number[]
}

interface Zone {
  readonly time_zone: string
  readonly messages: readonly Message[]
}

const shortForm = ({ sent_as: kind, events: of, at }: Message) => `${kind} of ${of} at ${at}`

async function readMails(s: Setup): Promise<{ at: string }[]> {
  return (await s.call('GET', '/dev/mailbox')).body.messages
}
