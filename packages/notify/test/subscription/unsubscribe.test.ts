import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OutgoingMessage, Provider } from '../../src/index.ts'
import { asForm, baseUrl, linkSecret, pathOf, readShownLinks, setupMailLinks } from '../support/providers/mail-links.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

test('one-click unsubscription is an idempotent POST without cookies for one kind of mail', async (t) => {
  const s = await setupMailLinks(t)
  const { html, text } = await s.mail()
  const path = pathOf(html, '/unsubscribe/')
  assert.equal(pathOf(text, '/unsubscribe/'), path)
  const outcome = async () =>
    (await s.call('POST', '/v1/notify', { event: 'order.shipped', user_id: 'alice', data: {}, channels: ['email'] }))
      .body.deliveries[0].outcome
  const page = await s.http.inject({ url: path })
  assert.equal(page.statusCode, 200)
  assert.equal(await outcome(), 'queued', 'opening the page changes nothing')
  for (let times = 0; times < 2; times++) {
    const answer = await s.http.inject({
      method: 'POST',
      url: path,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'List-Unsubscribe=One-Click',
    })
    assert.equal(answer.statusCode, 200)
  }
  assert.equal(await outcome(), 'undeliverable')
  const { body } = await s.call('GET', '/v1/suppressions?user_id=alice')
  assert.deepEqual(
    body.items.map(({ scope, reason, channel }: Record<string, string>) => [channel, scope, reason]),
    [['email', 'order.shipped', 'unsubscribed']],
  )
  await s.call('DELETE', `/v1/suppressions/${body.items[0].id}`)
  assert.equal(await outcome(), 'queued')
})

test('unsubscribe fields are in normal mails, not in sensitive ones; critical link to the page', async (t) => {
  const seen: OutgoingMessage[] = []
  const provider: Provider = {
    name: 'own',
    channel: 'email',
    timeoutMs: 1_000,
    async send(messages) {
      seen.push(...messages)
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const s = await setup({ linkSecret, publicUrl: baseUrl, providers: { email: [provider] } })
  t.after(() => s.close())
  const send = async (event: string, settings: object) => {
    await seedEventType(s, event, settings)
    const before = seen.length
    await s.call('POST', '/v1/notify', { event, user_id: 'alice', data: {}, channels: ['email'] })
    await eventually(
      async () => seen.length,
      (count) => count > before,
    )
    return seen.at(-1)
  }
  const footerOf = (mail: OutgoingMessage | undefined) => mail?.content.body.split('\n-- \n')[1] ?? ''
  const ordinary = await send('order.shipped', {})
  const { headers } = ordinary ?? {}
  assert.match(footerOf(ordinary), /\/unsubscribe\/.*\n.*\/preferences\//)
  assert.match(headers?.['List-Unsubscribe'] ?? '', /^<https:\/\/notify\.example\/unsubscribe\/[\w.-]+>$/)
  assert.equal(headers?.['List-Unsubscribe-Post'], 'List-Unsubscribe=One-Click')
  const critical = await send('security.alert', { priority: 'critical' })
  assert.equal(critical?.headers, undefined)
  assert.match(footerOf(critical), /^Notification settings: https:\/\/notify\.example\/preferences\/[\w.-]+\n$/)
  const sensitive = await send('account.reset', { sensitive: true })
  assert.deepEqual([sensitive?.headers, footerOf(sensitive)], [undefined, ''])
})

test('a template that contains the links gets no footer', async (t) => {
  const s = await setupMailLinks(t)
  await s.call('PUT', '/v1/templates/order.shipped/email/en', { subject: 's', body: 'Settings: {{ preferences_url }}' })
  const { text } = await s.mail()
  assert.match(text, /^Settings: https:\/\/notify\.example\/preferences\/[\w.-]+\s*$/)
})

test('no sensitive mail has a key to settings, even where its template names the links', async (t) => {
  const s = await setupMailLinks(t, { sensitive: true })
  const path = '/v1/templates/order.shipped'
  const body = 'Settings: {{ preferences_url }} {{ unsubscribe_url }}.'
  await s.call('PUT', `${path}/email/en`, { subject: 's', body })
  assert.equal((await s.mail()).text, 'Settings:  .')
  const { items } = (await s.call('POST', `${path}/preview`, { channels: ['email'], data: {} })).body
  assert.deepEqual(
    [items[0].body, items[0].missing.toSorted()],
    ['Settings:  .', ['preferences_url', 'unsubscribe_url']],
  )
  await s.call('POST', `${path}/test`, { channel: 'email', user_id: 'alice', data: {} })
  const { messages } = (await s.call('GET', '/dev/mailbox')).body
  assert.deepEqual(
    messages.map(({ body }: { body: string }) => body),
    ['Settings:  .', 'Settings:  .'],
  )
})

test('unsubscription accepts forms, multipart/form-data and an empty body', async (t) => {
  const s = await setupMailLinks(t)
  const path = pathOf((await s.mail()).text, '/unsubscribe/')
  const field = 'content-disposition: form-data; name="List-Unsubscribe"'
  const posts = [
    {
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      payload: `--b\r\n${field}\r\n\r\nOne-Click\r\n--b--\r\n`,
    },
    { headers: {} },
  ]
  for (const post of posts) {
    const answer = await s.http.inject({ method: 'POST', url: path, ...post })
    assert.equal(answer.statusCode, 200)
    const { items: suppressions } = (await s.call('GET', '/v1/suppressions?user_id=alice')).body
    assert.equal(suppressions.length, 1)
    assert.equal(suppressions[0].detail, post.payload ? 'one-click, from a mail' : 'on the page, from a mail')
    await s.call('DELETE', `/v1/suppressions/${suppressions[0].id}`)
  }
})

test('the preference page sets channels, quiet hours and zone by a plain form', async (t) => {
  const s = await setupMailLinks(t)
  const path = pathOf((await s.mail()).text, '/preferences/')
  const page = await s.http.inject({ url: path, headers: { 'accept-language': 'de' } })
  assert.equal(page.statusCode, 200)
  assert.ok(page.body.includes('<html lang="de">') && page.body.includes('Order shipped'))
  assert.match(
    String(page.headers['content-security-policy']),
    /^default-src 'none'; style-src 'self'.*frame-ancestors 'none'/,
  )
  const post = (form: string, headers: Record<string, string> = {}) =>
    s.http.inject({
      method: 'POST',
      url: path,
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: baseUrl, ...headers },
      payload: form,
    })
  const form =
    'was:order.shipped=push email sms in-app&on:order.shipped=push&quiet_start=22:00&quiet_end=07:00&zoneinfo=Europe/Berlin'
  assert.equal((await post(form, { origin: 'https://evil.example' })).statusCode, 403)
  assert.deepEqual((await s.call('GET', '/v1/users/alice/preferences')).body.items, [])
  assert.equal((await post(form)).statusCode, 200)
  assert.deepEqual((await s.call('GET', '/v1/users/alice/preferences')).body.items, [
    { user_id: 'alice', event_type: '*', quiet_hours: { start: '22:00', end: '07:00' } },
    { user_id: 'alice', event_type: 'order.shipped', channels: ['push'] },
  ])
  assert.equal((await s.call('GET', '/v1/recipients/alice')).body.zoneinfo, 'Europe/Berlin')
  assert.equal((await post('zoneinfo=Mars/Base')).statusCode, 422)
  assert.equal((await post('{}', { 'content-type': 'application/json' })).statusCode, 415)
  assert.equal((await post('all=off')).statusCode, 200)
  assert.equal((await s.call('GET', '/v1/users/alice/choices')).body.unsubscribed, true)
  assert.equal((await s.http.inject({ url: `${path}x` })).statusCode, 404)
})

test('the preference page stores a zone that quiet hours know, and refuses any other', async (t) => {
  const s = await setupMailLinks(t)
  const url = pathOf((await s.mail()).text, '/preferences/')
  const post = (zone: string) =>
    s.http.inject({ method: 'POST', url, headers: asForm, payload: new URLSearchParams({ zoneinfo: zone }).toString() })
  const zone = async () => (await s.call('GET', '/v1/recipients/alice')).body?.zoneinfo
  for (const wrong of ['+05:30', '-0300', '2026-01-01T00:00+09:00', '2026-01-01T00:00+09:00[Asia/Tokyo]']) {
    const refused = await post(wrong)
    assert.deepEqual([wrong, refused.statusCode, await zone()], [wrong, 422, undefined])
    assert.match(refused.body, /such as Europe\/Berlin/)
  }
  assert.equal((await post('Asia/Kolkata')).statusCode, 200)
  assert.equal(await zone(), 'Asia/Kolkata')
  await s.call('DELETE', '/v1/recipients/alice')
  assert.equal((await post('Asia/Tokyo')).statusCode, 200)
  assert.deepEqual((await s.call('GET', '/v1/recipients/alice')).body, { user_id: 'alice', zoneinfo: 'Asia/Tokyo' })
})

test('an unsubscribed user reaches the preference page and can resubscribe there', async (t) => {
  const s = await setupMailLinks(t)
  const path = pathOf((await s.mail()).text, '/unsubscribe/')
  const done = await s.http.inject({ method: 'POST', url: path })
  const [, preferences = ''] = /href="(\/preferences\/[\w.-]+)"/.exec(done.body) ?? []
  const page = await s.http.inject({ url: preferences })
  const email = /name="on:order.shipped" value="email"( checked)?/
  assert.equal(email.exec(page.body)?.[1], undefined)
  const form = new URLSearchParams([...readShownLinks(page.body), ['on:order.shipped', 'email']])
  const saved = await s.http.inject({ method: 'POST', url: preferences, headers: asForm, payload: form.toString() })
  assert.equal(email.exec(saved.body)?.[1], ' checked')
  assert.deepEqual((await s.call('GET', '/v1/suppressions?user_id=alice')).body.items, [])
})

test('two open preference pages each change only what was changed on them', async (t) => {
  const s = await setupMailLinks(t)
  await s.call('PUT', '/v1/recipients/alice', { email: 'alice@example.com', zoneinfo: 'Europe/Berlin' })
  const path = pathOf((await s.mail()).text, '/preferences/')
  const fields = readShownLinks((await s.http.inject({ url: path })).body)
  const send = async (change: (form: URLSearchParams) => void) => {
    const form = new URLSearchParams(fields)
    change(form)
    const answer = await s.http.inject({ method: 'POST', url: path, headers: asForm, payload: form.toString() })
    assert.equal(answer.statusCode, 200)
  }
  await send((form) => {
    form.delete('on:order.shipped', 'push')
    form.set('quiet_start', '22:00')
    form.set('quiet_end', '07:00')
  })
  await send((form) => {
    form.delete('on:order.shipped', 'sms')
    form.set('zoneinfo', 'Europe/Paris')
  })
  await send(() => {})
  assert.deepEqual((await s.call('GET', '/v1/users/alice/preferences')).body.items, [
    { user_id: 'alice', event_type: '*', quiet_hours: { start: '22:00', end: '07:00' } },
    { user_id: 'alice', event_type: 'order.shipped', channels: ['email', 'in-app'] },
  ])
  assert.deepEqual((await s.call('GET', '/v1/recipients/alice')).body, {
    user_id: 'alice',
    email: 'alice@example.com',
    zoneinfo: 'Europe/Paris',
  })
})
