import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRequest } from '../../src/request/read-request.ts'
import { type Answer, type Setup, seedEventType, setup } from '../support/setup.ts'
import { createManualTopic } from '../support/topic/manual-topic.ts'

const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['sms'] }
const nestData = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

async function setupSeeded(options: Parameters<typeof setup>[0] = {}): Promise<Setup> {
  const s = await setup(options)
  await seedEventType(s)
  return s
}

/** A body as it is written. */
async function send({ http }: Setup, path: string, type: string, body: string | Buffer): Promise<Answer> {
  const authorization = 'Bearer write:notifications admin:notifications'
  const headers = { authorization, 'content-type': type }
  const answer = await http.inject({ method: 'POST', url: path, headers, payload: body })
  return { status: answer.statusCode, body: answer.body, headers: answer.headers }
}

const statusesOf = ({ body }: Answer): number[] =>
  String(body)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).status)

test('a time in a leap second is accepted; one before 1970 or after 9999 is rejected by name', async (t) => {
  const s = await setupSeeded()
  t.after(s.close)
  const schedule = (fire_at: string) => s.call('POST', '/v1/scheduled', { fire_at, payload: shipped })
  const leap = await schedule('2026-12-31T23:59:60Z')
  assert.deepEqual([leap.status, leap.body.fire_at], [201, '2027-01-01T00:00:00.000Z'])
  for (const fire_at of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59']) {
    const refused = await schedule(fire_at)
    assert.deepEqual([refused.status, refused.body.errors[0].pointer], [400, '/fire_at'])
  }
  assert.equal((await s.call('POST', '/v1/dead-letters/replay', { at: '2026-12-31T23:59:60Z' })).status, 200)
  const replay = await s.call('POST', '/v1/dead-letters/replay', { at: '0000-01-01T00:00:00Z' })
  assert.deepEqual([replay.status, replay.body.errors[0].pointer], [400, '/at'])
  const suppression = { user_id: 'alice', channel: 'email', expires_at: '0000-01-01T00:00:00Z' }
  const suppressed = await s.call('POST', '/v1/suppressions', suppression)
  assert.deepEqual([suppressed.status, suppressed.body.errors[0].pointer], [400, '/expires_at'])
})

/** Channels that are compared with one another, as deep as they go. */
const nestedChannels = (levels: number) => {
  const list = `${'['.repeat(levels)}${']'.repeat(levels)}`
  return `{"event":"order.shipped","user_id":"alice","data":{},"channels":[${list},${list}]}`
}

test('an event nested too deep is 400, alone and in bulk', async (t) => {
  const s = await setupSeeded()
  t.after(s.close)
  const deep = (levels: number) => `{"event":"order.shipped","user_id":"alice","data":${nestData(levels)}}`
  assert.equal((await send(s, '/v1/notify', 'application/json', deep(5_000))).status, 400)
  const fine = JSON.stringify(shipped)
  const lines = await send(s, '/v1/notify/bulk', 'application/x-ndjson', [fine, deep(5_000), fine].join('\n'))
  assert.deepEqual(statusesOf(lines), [202, 400, 202])
  const list = await send(s, '/v1/notify/bulk', 'application/json', `[${[fine, deep(30_000), fine].join(',')}]`)
  assert.deepEqual(statusesOf(list), [202, 400, 202])
  assert.equal((await send(s, '/v1/notify', 'application/json', nestedChannels(5_000))).status, 400)
  const channels = [fine, nestedChannels(5_000), fine]
  for (const [type, body] of [
    ['application/x-ndjson', channels.join('\n')],
    ['application/json', `[${channels.join(',')}]`],
  ] as const)
    assert.deepEqual(statusesOf(await send(s, '/v1/notify/bulk', type, body)), [202, 400, 202])
})

test('a topic message nested too deep is a dead letter and not redelivered', async (t) => {
  const { topic, deliver } = createManualTopic()
  const s = await setupSeeded({ topic })
  t.after(s.close)
  const data = `{"event":"order.shipped","user_id":"alice","data":${nestData(5_000)}}`
  for (const [place, text] of [data, nestedChannels(5_000)].entries()) {
    assert.equal(await deliver(place + 1, text), 'terminate')
    const letters = await s.call('GET', '/v1/dead-letters?cause=invalid_message')
    assert.equal(letters.body.items.length, place + 1)
    for (const { detail } of letters.body.items) assert.match(detail, /nested deeper than 64 levels/)
  }
})

test('invalid text or a missing channel in a bulk request fails its own line only', async (t) => {
  const s = await setupSeeded()
  t.after(s.close)
  const events = [
    shipped,
    { ...shipped, data: { order_id: 'A\u0000' } },
    { ...shipped, channels: [] },
    { ...shipped, user_id: '\ud800' },
    shipped,
  ]
  const expected = [202, 400, 422, 400, 202]
  const lines = events.map((event) => JSON.stringify(event)).join('\n')
  assert.deepEqual(statusesOf(await send(s, '/v1/notify/bulk', 'application/x-ndjson', lines)), expected)
  const list = JSON.stringify(events)
  assert.deepEqual(statusesOf(await send(s, '/v1/notify/bulk', 'application/json', list)), expected)
})

test('an invalid bulk line is answered with its fault, and too large a line is rejected', async (t) => {
  const s = await setupSeeded()
  t.after(s.close)
  const fine = JSON.stringify(shipped)
  const large = JSON.stringify({ ...shipped, data: { note: 'x'.repeat(65_536) } })
  const lines = Buffer.concat([
    Buffer.from(`${fine}\r\n{"event"\n\n   \n"text"\n${large}\n`),
    Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]),
    Buffer.from(`\n${fine}`),
  ])
  const answer = await send(s, '/v1/notify/bulk', 'application/x-ndjson; charset=utf-8', lines)
  assert.deepEqual(statusesOf(answer), [202, 400, 400, 413, 400, 202])
  const faults = String(answer.body)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).detail)
  assert.match(faults[1], /^The line is not JSON: /)
  assert.match(faults[2], /must be an object/)
  assert.equal(faults[3], 'The event is larger than the 65536 bytes allowed here.')
  assert.equal(faults[4], 'The line is not UTF-8.')
  const list = await send(s, '/v1/notify/bulk', 'application/json', `[${fine},${large},${fine}]`)
  assert.deepEqual(statusesOf(list), [202, 413, 202])
  assert.equal((await send(s, '/v1/notify', 'application/json', large)).status, 413)
  const later = `{"fire_at":"2030-01-01T00:00:00Z","payload":${large}}`
  assert.equal((await send(s, '/v1/scheduled', 'application/json', later)).status, 413)
})

test('the same faults have the same error texts on every intake', async (t) => {
  const { topic, deliver } = createManualTopic()
  const s = await setupSeeded({ topic })
  t.after(s.close)
  const wrong = { event: 3, data: [], channels: ['fax'], colour: 'red', userId: 'ann' }
  const faultsOf = ({ errors }: { errors: Array<{ pointer: string; detail: string }> }) =>
    errors.map(({ pointer, detail }) => `${pointer} ${detail}`).toSorted()
  const single = faultsOf((await s.call('POST', '/v1/notify', wrong)).body)
  assert.deepEqual(single, [
    '/channels/0 must be one of push, email, sms, in-app',
    '/colour is not a known member',
    '/data must be an object',
    '/event must be a string',
    '/userId is not a known member; did you mean user_id?',
    '/user_id is required',
  ])
  assert.deepEqual(faultsOf((await s.call('POST', '/v1/notify/bulk', [wrong])).body), single)
  await deliver(1, wrong)
  const { body } = await s.call('GET', '/v1/dead-letters')
  for (const fault of single) assert.ok(body.items[0].detail.includes(fault), fault)
})

test('a bulk line of an event type over its rate says when to retry', async (t) => {
  const s = await setupSeeded()
  t.after(s.close)
  await seedEventType(s, 'photo.viewed', { rate_limit: { limit: 1, per_seconds: 60 } })
  const viewed = { ...shipped, event: 'photo.viewed' }
  const answer = await send(s, '/v1/notify/bulk', 'application/json', JSON.stringify([viewed, viewed, shipped]))
  assert.deepEqual(statusesOf(answer), [202, 429, 202])
  assert.equal(JSON.parse(String(answer.body).split('\n')[1] ?? '').retry_after, 60)
})

test('the limit of a rate is at most the greatest that the rates count to', async (t) => {
  const s = await setupSeeded()
  t.after(s.close)
  const greatest = 2_147_483_647
  const put = (limit: number) =>
    s.call('PUT', '/v1/event-types/photo.viewed', { channels: ['email'], rate_limit: { limit, per_seconds: 60 } })
  const { status, body } = await put(greatest + 1)
  assert.equal(status, 400)
  assert.equal(body.errors[0].pointer, '/rate_limit/limit')
  await seedEventType(s, 'photo.viewed', { rate_limit: { limit: greatest, per_seconds: 60 } })
  for (let n = 0; n < 2; n++)
    assert.equal((await s.call('POST', '/v1/notify', { ...shipped, event: 'photo.viewed' })).status, 202)
})

test('the name of an event type is one line and not the name for all types', async (t) => {
  const s = await setupSeeded()
  t.after(s.close)
  for (const [name, status] of [
    ['*', 400],
    ['a\r\nb', 400],
    ['a\u2028b', 400],
    ['*.shipped', 200],
    ['Bestellung verschickt/ü', 200],
  ] as const)
    assert.equal(
      (await s.call('PUT', `/v1/event-types/${encodeURIComponent(name)}`, { channels: [] })).status,
      status,
      name,
    )
})

test('each of 10,000 bulk lines is answered in its place, valid or not', async (t) => {
  const s = await setup({ work: false, options: { caps: { total: 1_000_000, channels: {}, priorities: {} } } })
  t.after(s.close)
  await seedEventType(s)
  const bad = (n: number) => n % 1_000 === 7
  const lines = Array.from({ length: 10_000 }, (_, n) =>
    bad(n)
      ? '{"event":'
      : JSON.stringify({ ...shipped, dedup_key: `k${n}`, user_id: `user${n % 50}`, channels: ['in-app'] }),
  )
  const answer = await send(s, '/v1/notify/bulk', 'application/x-ndjson', lines.join('\n'))
  assert.equal(answer.status, 200)
  assert.match(String(answer.headers['content-type']), /^application\/x-ndjson/)
  assert.deepEqual(
    statusesOf(answer),
    lines.map((_, n) => (bad(n) ? 400 : 202)),
  )
  assert.equal((await s.database.query('SELECT 1 FROM notify.delivery_queue')).rowCount, 9_990)
  const again = await send(s, '/v1/notify/bulk', 'application/x-ndjson', lines.slice(5, 9).join('\n'))
  const ids = ({ body }: Answer) =>
    String(body)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id)
  assert.deepEqual(ids(again), ids(answer).slice(5, 9), 'each line was answered with its own ids')
})

test('a bulk request contains at most 10,000 events', async (t) => {
  const s = await setupSeeded()
  t.after(s.close)
  const lines = (count: number) => '{}\n'.repeat(count)
  const largest = await send(s, '/v1/notify/bulk', 'application/x-ndjson', lines(10_000))
  assert.equal(largest.status, 200)
  assert.equal(statusesOf(largest).length, 10_000)
  const tooMany = await send(s, '/v1/notify/bulk', 'application/x-ndjson', lines(10_001))
  assert.equal(tooMany.status, 400)
  assert.match(String(tooMany.body), /10000/)
})

// To read all of it would take minutes and some gigabytes.
test('a bulk request of millions of lines is refused by its first', { timeout: 60_000 }, async (t) => {
  const s = await setupSeeded()
  t.after(s.close)
  for (const line of ['x\n', '0\n', '\xff\n'])
    assert.equal(
      (await send(s, '/v1/notify/bulk', 'application/x-ndjson', Buffer.alloc(16e6, line, 'latin1'))).status,
      400,
    )
  const blank = Buffer.concat([Buffer.alloc(16e6, ' \r\n'), Buffer.from(JSON.stringify(shipped))])
  assert.deepEqual(statusesOf(await send(s, '/v1/notify/bulk', 'application/x-ndjson', blank)), [202])
})

test('more channels than there are is one fault, however many', { timeout: 60_000 }, () => {
  const faults = readRequest({ ...shipped, channels: Array(2_000_000).fill('sms') })
  assert.deepEqual(faults, [{ pointer: '/channels', detail: 'must have at most 4 items' }])
})

test('a preview and a test send use the configured default locale', async (t) => {
  const s = await setupSeeded({ options: { locale: 'de' } })
  t.after(s.close)
  await s.call('PUT', '/v1/templates/gruss/sms/de', { body: 'Hallo {{ name }}' })
  const sample = { channel: 'sms', data: { name: 'Anna' } }
  const { data } = sample
  const preview = await s.call('POST', '/v1/templates/gruss/preview', { data })
  const [german] = preview.body.items
  assert.deepEqual([preview.status, german.body, german.locale], [200, 'Hallo Anna', 'de'])
  const french = await s.call('POST', '/v1/templates/gruss/preview', { data, locales: ['fr'] })
  const [shown] = french.body.items
  assert.deepEqual([shown.requested_locale, shown.locale], ['fr', 'de'], 'as for a user who reads French')
  assert.equal((await s.call('POST', '/v1/templates/gruss/test', { ...sample, user_id: 'alice' })).status, 200)
})

test('the longest names and keys of any alphabet are accepted and kept apart', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  // so that the database can't compress them
  const letters = (count: number, seed: number) =>
    Array.from({ length: count }, (_, n) => String.fromCodePoint(0x1f300 + ((n * n * 31 + n * seed * 7) % 700))).join(
      '',
    )
  const event = letters(200, 1)
  assert.equal(
    (await s.call('PUT', `/v1/event-types/${encodeURIComponent(event)}`, { channels: ['in-app'] })).status,
    200,
  )
  assert.equal((await s.call('PUT', `/v1/templates/${encodeURIComponent(event)}/in-app/en`, { body: 'x' })).status, 200)
  const submitted = { event, user_id: letters(256, 2), data: {}, dedup_key: letters(512, 3) }
  const outcomes = []
  for (const dedup_key of [submitted.dedup_key, submitted.dedup_key, `${submitted.dedup_key.slice(0, -2)}😀`]) {
    const { status, body } = await s.call('POST', '/v1/notify', { ...submitted, dedup_key })
    outcomes.push([status, body.deliveries?.[0].outcome])
  }
  assert.deepEqual(outcomes, [
    [202, 'queued'],
    [202, 'duplicate'],
    [202, 'queued'],
  ])
})
