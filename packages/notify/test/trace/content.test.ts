import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Setup, seedEventType, setup } from '../support/setup.ts'

const content = async ({ call }: Setup, id: string, scopes?: string) =>
  call('GET', `/v1/notifications/${id}/content`, undefined, scopes)

test('content is what the version of the template said, and unfilled where it is masked', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  await seedEventType(s)
  const html = '<p>Order <b>{{ order_id }}</b> left.</p><a href="{{ unsubscribe_url }}">no more</a>'
  await s.call('PUT', '/v1/templates/order.shipped/email/en', { subject: 'Order {{ order_id }}', body: '', html })
  const data = { order_id: 'A<1' }
  const event = { event: 'order.shipped', user_id: 'alice', data, channels: ['email', 'sms'] }
  const { id } = (await s.call('POST', '/v1/notify', event)).body
  await s.call('PUT', '/v1/templates/order.shipped/email/en', { subject: 'New', body: 'New words' })
  await s.call('DELETE', '/v1/templates/order.shipped/sms/en')
  const { status, body } = await content(s, id)
  assert.equal(status, 200)
  const [mail, sms] = body.items
  assert.deepEqual(
    [mail.channel, mail.template, mail.subject, mail.source],
    ['email', { id: 'order.shipped', version: 2, locale: 'en' }, 'Order A<1', 'rendered_again'],
  )
  assert.match(mail.html, /Order <b>A&lt;1<\/b> left\./)
  assert.match(mail.body, /Order A<1 left\./)
  assert.deepEqual(sms, {
    channel: 'sms',
    template: { id: 'order.shipped', version: 1, locale: 'en' },
    subject: 'Order A<1',
    body: 'Order A<1 left.',
    source: 'rendered_again',
  })
  assert.deepEqual([body.data, body.data_source], [data, 'stored'])
  const forSupport = (await content(s, id, 'read:delivery')).body
  assert.deepEqual([forSupport.data, forSupport.data_source], [{ order_id: 'string' }, 'masked'])
  const masked = forSupport.items
  assert.deepEqual([masked[0].html, masked[1].body, masked[1].source], [html, 'Order {{ order_id }} left.', 'unfilled'])
  assert.ok(!JSON.stringify(masked).includes('A<1'))
  assert.equal((await content(s, id, 'user:alice read:notifications')).body.items[1].body, 'Order A<1 left.')
  assert.equal((await content(s, id, 'user:bob read:notifications')).status, 404)
})

test('sensitive content is shown to nobody, and erased content says so', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  await seedEventType(s)
  await seedEventType(s, 'sign_in.code', { channels: ['email'], sensitive: true })
  const send = async (event: string) =>
    (await s.call('POST', '/v1/notify', { event, user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }))
      .body.id
  const code = await send('sign_in.code')
  for (const scopes of [undefined, 'user:alice read:notifications', 'read:delivery']) {
    const { body } = await content(s, code, scopes)
    const [mail, ...more] = body.items
    assert.deepEqual([mail.source, mail.body, more], ['sensitive', undefined, []])
    assert.deepEqual([body.data, body.data_source], [undefined, 'sensitive'])
  }
  const old = await send('order.shipped')
  await s.database.query('DELETE FROM notify.template')
  assert.equal((await content(s, old)).body.items[0].source, 'erased')
})
