import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Secret } from '@gatehouse/kit'
import { type Setup, seedEventType, setup } from '../support/setup.ts'

describe('previews and test sends', () => {
  let s: Setup
  before(async () => {
    s = await setup({
      work: false,
      publicUrl: 'https://shop.example',
      linkSecret: new Secret('0123456789abcdef0123456789abcdef'),
    })
    await seedEventType(s)
    await s.call('PUT', '/v1/templates/order.shipped/sms/de', { body: 'Bestellung {{ order_id }} ist unterwegs.' })
  })
  after(() => s.close())

  const preview = async (body: object) => (await s.call('POST', '/v1/templates/order.shipped/preview', body)).body

  test('channels and locales are rendered from one data set, as users of the locales get them', async () => {
    const { items, unused } = await preview({
      data: { order_id: 'A-1', colour: 'red' },
      channels: ['sms', 'push'],
      locales: ['de-AT', 'fr'],
    })
    assert.deepEqual(
      items.map((item: Record<string, string>) => [item.channel, item.requested_locale, item.locale, item.body]),
      [
        ['sms', 'de-AT', 'de', 'Bestellung A-1 ist unterwegs.'],
        ['sms', 'fr', 'en', 'Order A-1 left.'],
        ['push', 'de-AT', 'en', 'Order A-1 left.'],
        ['push', 'fr', 'en', 'Order A-1 left.'],
      ],
    )
    assert.deepEqual(unused, ['colour'])
    const { bytes, max_bytes: max } = items[2].push.apns
    assert.ok(bytes > 200 && bytes < 400 && max === 4_096, `${bytes}`)
    assert.ok(items[2].push.fcm.max_bytes === 4_096 && items[2].push.web.max_bytes < 4_096)
  })

  test('texts that are too long together are not all rendered', async () => {
    const body = 'x'.repeat(65_000)
    await s.call('PUT', '/v1/templates/long/email/en', { subject: 'Long', body, html: body })
    await s.call('PUT', '/v1/templates/long/sms/en', { body: 'Short' })
    const locales = ['en', 'de', 'fr', 'it', 'es', 'pt', 'nl', 'pl']
    const data = { channels: ['email', 'sms'], locales, data: {} }
    const answer = await s.call('POST', '/v1/templates/long/preview', data)
    const items = answer.body.items as { channel: string; body?: string; faults: { message: string }[] }[]
    const [mails, texts] = [items.slice(0, 8), items.slice(8)]
    assert.ok(mails.every((item) => item.body !== undefined))
    for (const { body: rendered, faults } of texts) {
      assert.equal(rendered, undefined, 'beyond 1,000,000 characters in all')
      assert.match(faults[0]?.message ?? '', /too long together/)
    }
  })

  const faulty = [
    ['body', 'One\n{{ order_id | shout }}', 2, 1, /undefined filter: shout/],
    ['body', 'One\nTwo {% if order_id %}', 2, 5, /not closed/],
    ['subject', '{% include "x" %}', 1, 1, /include is not available/],
    ['html', '<p>\n\n  {{ order_id', 3, 3, /not closed/],
  ] as const
  for (const [part, source, line, column, message] of faulty)
    test(`a fault in ${part} is at line ${line} and column ${column}, and the others are rendered`, async () => {
      const draft = { channel: 'email', locale: 'en', subject: 'S', body: 'B', [part]: source }
      const { items } = await preview({ data: { order_id: 'A-1' }, channels: ['sms', 'email'], draft })
      assert.equal(items[0].body, 'Order A-1 left.')
      const [fault] = items[1].faults
      assert.deepEqual([fault.part, fault.line, fault.column, items[1].body], [part, line, column, undefined])
      assert.match(fault.message, message)
    })

  test('every part has its first fault, and the same are named when the text is to be stored', async () => {
    const parts = { subject: '{{ a | b }}', body: 'x\n{% what %}' }
    const draft = { channel: 'email', locale: 'en', ...parts }
    const { items } = await preview({ data: {}, channels: ['email'], draft })
    const places = items[0].faults.map((fault: Record<string, unknown>) => [fault.part, fault.line, fault.column])
    assert.deepEqual(places, [
      ['subject', 1, 1],
      ['body', 2, 1],
    ])
    const refused = await s.call('PUT', '/v1/templates/order.shipped/email/en', parts)
    assert.equal(refused.status, 422)
    assert.deepEqual(refused.body.faults, items[0].faults)
    assert.deepEqual(
      refused.body.errors.map(({ pointer }: { pointer: string }) => pointer),
      ['/subject', '/body'],
    )
  })

  test('a text that is missing, or renders too much, is a fault of its own place', async () => {
    await s.call('PUT', '/v1/templates/only.sms/sms/en', { body: 'x' })
    const request = { data: {}, channels: ['in-app', 'sms'] }
    const { items } = (await s.call('POST', '/v1/templates/only.sms/preview', request)).body
    assert.deepEqual([items[0].channel, items[0].body, items[1].body], ['in-app', undefined, 'x'])
    assert.match(items[0].faults[0].message, /no text for in-app/)
    const draft = { channel: 'sms', locale: 'en', body: '{% for a in (1..100000) %}{{ a }} {% endfor %}' }
    const large = (await preview({ data: {}, channels: ['sms'], draft })).items[0]
    assert.deepEqual([large.faults.length, large.faults[0].part, large.body], [1, 'body', undefined])
    assert.equal((await s.call('POST', '/v1/templates/nothing/preview', { data: {} })).status, 404)
  })

  test('a mail is shown with footer, tracked links and header fields, and without their tokens', async () => {
    await s.call('PUT', '/v1/event-types/order.shipped', { channels: ['email'], tracking: 'on' })
    const html = '<p>Hi</p><a href="https://example.com/x">x</a>'
    const draft = { channel: 'email', locale: 'en', subject: 'Order {{ order_id }}', body: 'Hi', html }
    const [mail] = (await preview({ data: { order_id: 'A-1' }, channels: ['email'], draft })).items
    assert.equal(mail.headers.Subject, 'Order A-1')
    assert.equal(mail.headers['List-Unsubscribe'], '<https://shop.example/unsubscribe/•••>')
    assert.match(mail.html, /href="https:\/\/shop\.example\/t\/c\/•••"/)
    assert.match(mail.html, /shop\.example\/preferences\/•••"/)
    assert.match(mail.body, /unsubscribe\/•••/)
    assert.doesNotMatch(JSON.stringify(mail), /v1\./, 'no token')
    await s.call('PUT', '/v1/event-types/order.shipped', { channels: ['email'] })
  })

  test('variables of mails that are filled for everybody are not missing', async () => {
    const draft = { channel: 'email', locale: 'en', subject: 'S', body: '{{ unsubscribe_url }} {{ eta }}' }
    const [mail] = (await preview({ data: {}, channels: ['email'], draft })).items
    assert.deepEqual([mail.missing, mail.body.startsWith('https://shop.example/unsubscribe/•••')], [['eta'], true])
  })

  test('characters of an SMS that force UCS-2 are named, and its segments are shown', async () => {
    const draft = { channel: 'sms', locale: 'en', body: `${'a'.repeat(80)}„${'b'.repeat(20)}` }
    const [{ sms }] = (await preview({ data: {}, channels: ['sms'], draft })).items
    assert.deepEqual([sms.encoding, sms.segments, sms.outside_gsm], ['UCS-2', 2, ['„']])
    assert.equal(sms.parts.join(''), draft.body)
    assert.deepEqual([sms.units, sms.units_per_segment], [101, 67])
  })

  test('a draft is sent as a test, stores nothing, and is refused where it is at fault', async () => {
    const before = (await s.call('GET', '/v1/templates/order.shipped')).body
    const test = { channel: 'sms', user_id: 'alice', data: { order_id: 'A-9' } }
    const send = (draft: object) => s.call('POST', '/v1/templates/order.shipped/test', { ...test, draft })
    const sent = await send({ body: 'Draft for {{ order_id }}' })
    assert.equal(sent.body.results[0].kind, 'accepted')
    const { rows } = await s.database.query<{ body: string }>(`SELECT message ->> 'body' AS body FROM notify.mailbox`)
    assert.ok(
      rows.some(({ body }) => body === 'Draft for A-9'),
      JSON.stringify(rows),
    )
    const refused = await send({ body: 'x\n{{ a | b }}' })
    assert.deepEqual([refused.status, refused.body.faults[0].line], [422, 2])
    assert.deepEqual((await s.call('GET', '/v1/templates/order.shipped')).body, before)
  })

  test('support and auditors preview, and neither store, publish nor send', async () => {
    const as = (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object) =>
      s.call(method, `/v1/templates/order.shipped${path}`, body, 'user:sue role:gatehouse-support read:settings')
    assert.equal((await as('POST', '/preview', { data: {} })).status, 200)
    assert.equal((await as('PUT', '/sms/en', { body: 'x' })).status, 403)
    assert.equal((await as('POST', '/sms/en/publish', { version: 1 })).status, 403)
    assert.equal((await as('DELETE', '/sms/en')).status, 403)
    assert.equal((await as('POST', '/test', { channel: 'sms', user_id: 'alice', data: {} })).status, 403)
  })
})
