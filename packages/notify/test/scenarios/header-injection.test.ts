import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSmtp } from '@gatehouse/fakes'
import { Secret } from '@gatehouse/kit'
import { buildProvider } from '../support/providers/providers.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

const evil = 'x\r\nBcc: eve@example.com\r\n\r\n<b>mine</b>\u0085\u2028To: eve@example.com'

test('no event, user or data adds a header field or a recipient to a mail', async (t) => {
  const fake = await startSmtp({ user: 'us', password: 'p' })
  const post = buildProvider({ provider: 'smtp', url: fake.url })
  const s = await setup({ providers: { email: [post] }, linkSecret: new Secret('k'.repeat(32)) })
  t.after(async () => {
    await s.close()
    await fake.stop()
  })
  await seedEventType(s)
  const user = `zoë ${evil}`
  const path = encodeURIComponent(user)
  assert.equal(
    (await s.call('PUT', `/v1/recipients/${path}`, { email: 'a@example.com\r\nBcc: eve@x.example' })).status,
    400,
  )
  assert.equal((await s.call('PUT', `/v1/recipients/${path}`, { email: 'alice@example.com' })).status, 200)
  await s.call('PUT', '/v1/templates/order.shipped/email/en', {
    subject: 'Order {{ order_id }}\r\nBcc: author@example.com',
    body: 'Order {{ order_id }}',
    html: '<p title="{{ order_id }}">{{ order_id }}</p>',
  })
  const data = { order_id: evil }
  const { body } = await s.call('POST', '/v1/notify', {
    event: 'order.shipped',
    user_id: user,
    data,
    channels: ['email'],
  })
  await eventually(
    () => s.call('GET', `/v1/notifications/${body.id}`),
    (answer) => answer.body.deliveries[0].state === 'sent',
  )
  const [{ to, raw } = assert.fail('no mail')] = fake.requests
  assert.equal(to, 'alice@example.com')
  const [head = ''] = raw.split('\r\n\r\n', 1)
  const names = head.split('\r\n').flatMap((line) => /^([\w-]+):/.exec(line)?.[1]?.toLowerCase() ?? [])
  assert.deepEqual(names.filter((name) => ['bcc', 'cc', 'to', 'subject'].includes(name)).toSorted(), ['subject', 'to'])
  assert.match(head, /^To: alice@example\.com$/m)
  assert.match(raw, /multipart\/alternative/)
  assert.doesNotMatch(raw.slice(raw.indexOf('Content-Type: text/html')), /<b>mine/)
})
