import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '@gatehouse/kit'
import fc from 'fast-check'
import type { OutgoingMessage, Provider } from '../src/index.ts'
import { createLinks } from '../src/links.ts'
import { migrateNotify, postgresNotifyStore } from '../src/postgres/index.ts'
import { notifyDatabase } from './database.ts'
import { eventually, furnish, type Setup, setup } from './setup.ts'

const baseUrl = 'https://notify.example'
const linkSecret = new Secret('a secret of thirty-two characters or more')

/** The service with links, and a way to send alice a mail and see what went out. */
async function mailing(
  context: { after(end: () => Promise<void>): void },
  settings: object = {},
  event = 'order.shipped',
) {
  const s = await setup({ linkSecret, publicUrl: baseUrl })
  context.after(() => s.close())
  await furnish(s, event, settings)
  await s.call('PUT', `/v1/templates/${event}/email/en`, {
    subject: 'Order',
    body: 'It left.',
    html: '<html><body><p>It left. <a class="x" href="https://shop.example/?a=1&amp;b=2">Track</a> <a href="mailto:a@b.c">Write</a></p></body></html>',
  })
  return {
    ...s,
    async mail() {
      const sent = await s.call('POST', '/v1/notify', { event, user_id: 'alice', data: {}, channels: ['email'] })
      const mails = async () => (await s.call('GET', '/dev/mailbox')).body.messages
      const id = sent.body.deliveries[0].id
      const all = await eventually(mails, (list) =>
        list.some((each: { delivery_id: string }) => each.delivery_id === id),
      )
      const found = all.find((each: { delivery_id: string }) => each.delivery_id === id)
      return { notificationId: sent.body.id as string, text: found.body as string, html: found.html as string }
    },
  }
}

const pathOf = (text: string, path: string) =>
  new RegExp(`${baseUrl}(${path}[\\w.-]+)`).exec(text)?.[1] ?? assert.fail(`no ${path} in ${text}`)

async function stateOf(s: Setup, id: string): Promise<string> {
  return (await s.call('GET', `/v1/notifications/${id}`)).body.deliveries[0].state
}

const reader = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

test('a link is read for the purpose it was made for alone, and not after a letter of it was changed', () => {
  const links = createLinks({ baseUrl, secret: linkSecret })
  const others = createLinks({ baseUrl, secret: new Secret('another secret of thirty-two characters') })
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 40 }), { maxLength: 3 }), fc.nat(), (about, at) => {
      const token = links.url('click', about)?.split('/').at(-1) ?? ''
      assert.deepEqual(links.read('click', token), about)
      assert.equal(links.read('preferences', token), undefined)
      assert.equal(others.read('click', token), undefined)
      const place = at % token.length
      const changed = `${token.slice(0, place)}${token[place] === 'A' ? 'B' : 'A'}${token.slice(place + 1)}`
      assert.equal(links.read('click', changed), undefined)
    }),
  )
  assert.equal(links.url('click', ['x'.repeat(2_000)]), undefined, 'one that is too long is not made')
})

test('a mail is tracked where its event type says so: its pixel opens it, its links lead on and click it', async (t) => {
  const s = await mailing(t, { tracking: 'on' })
  const { notificationId, html } = await s.mail()
  assert.ok(html.includes('href="mailto:a@b.c"'))
  const pixel = await s.http.inject({ url: pathOf(html, '/t/o/'), headers: reader })
  assert.deepEqual(
    [pixel.statusCode, pixel.headers['content-type'], pixel.headers['cache-control']],
    [200, 'image/gif', 'no-store'],
  )
  await eventually(
    () => stateOf(s, notificationId),
    (state) => state === 'opened',
  )
  const click = await s.http.inject({ url: pathOf(html, '/t/c/'), headers: reader })
  assert.deepEqual([click.statusCode, click.headers.location], [302, 'https://shop.example/?a=1&b=2'])
  await eventually(
    () => stateOf(s, notificationId),
    (state) => state === 'clicked',
  )
})

test('machines that say what they are open and click nothing; the timeline tells of them, and a reader still counts', async (t) => {
  const s = await mailing(t, { tracking: 'on' })
  const { notificationId, html } = await s.mail()
  const asks = [
    { url: pathOf(html, '/t/o/'), headers: { 'user-agent': 'Mozilla/5.0' } },
    {
      url: pathOf(html, '/t/o/'),
      headers: {
        'user-agent': 'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
      },
    },
    { url: pathOf(html, '/t/c/'), headers: { ...reader, 'sec-purpose': 'prefetch;prerender' } },
    { url: pathOf(html, '/t/c/'), headers: { ...reader, purpose: 'prefetch' } },
    { url: pathOf(html, '/t/c/'), headers: reader, method: 'HEAD' as const },
  ]
  for (const ask of asks) assert.ok((await s.http.inject(ask)).statusCode < 400)
  const byMachines = async () => {
    const { timeline } = (await s.call('GET', `/v1/notifications/${notificationId}`)).body
    return timeline.filter(({ detail }: { detail?: { machine?: boolean } }) => detail?.machine)
  }
  const told = await eventually(byMachines, (list) => list.length === 2)
  assert.deepEqual(
    told.map(({ what, detail }: { what: string; detail: object }) => [what, detail]),
    [
      ['opened', { provider: 'tracking', machine: true, reason: 'Apple Mail Privacy Protection' }],
      ['clicked', { provider: 'tracking', machine: true, reason: 'a prefetch' }],
    ],
  )
  assert.equal(await stateOf(s, notificationId), 'sent')
  await s.http.inject({ url: pathOf(html, '/t/o/'), headers: { 'user-agent': '' } })
  await eventually(
    () => stateOf(s, notificationId),
    (state) => state === 'opened',
  )
})

test('a link leads where its author wrote it to, with entities and letters of every alphabet', async (t) => {
  const s = await mailing(t, { tracking: 'on' })
  const written = [
    ['https://shop.example/?q=it&#39;s&amp;n=&#x32;', 'https://shop.example/?q=it%27s&n=2'],
    ['https://shop.example/größe?x=日本', 'https://shop.example/gr%C3%B6%C3%9Fe?x=%E6%97%A5%E6%9C%AC'],
  ] as const
  for (const [href, target] of written) {
    await s.call('PUT', '/v1/templates/order.shipped/email/en', {
      subject: 's',
      body: 'b',
      html: `<a href="${href}">x</a>`,
    })
    const { html } = await s.mail()
    const answer = await s.http.inject({ url: pathOf(html, '/t/c/'), headers: reader })
    assert.deepEqual([answer.statusCode, answer.headers.location], [302, target])
  }
  const unknown = '<a href="https://shop.example/?a=1&sect;ion=2">x</a>'
  await s.call('PUT', '/v1/templates/order.shipped/email/en', { subject: 's', body: 'b', html: unknown })
  assert.ok((await s.mail()).html.includes(unknown), 'one that is not understood stays as it is')
})

test('whoever follows a link that was cut off is told so on a page', async (t) => {
  const s = await mailing(t, { tracking: 'on' })
  const path = pathOf((await s.mail()).html, '/t/c/').slice(0, -5)
  const answer = await s.http.inject({ url: path, headers: { ...reader, 'accept-language': 'de' } })
  assert.deepEqual([answer.statusCode, answer.headers['content-type']], [404, 'text/html; charset=utf-8'])
  assert.match(answer.body, /Dieser Link funktioniert nicht/)
})

test('while the settings that links depend on can not be read, mails wait a little and burn no try', async (t) => {
  const database = await notifyDatabase()
  await migrateNotify(database)
  const store = postgresNotifyStore(database)
  let away = false
  const version = async () => {
    if (away) throw new Error('away')
    return store.eventTypes.version()
  }
  const seen: string[] = []
  const provider: Provider = {
    name: 'own',
    channel: 'email',
    timeoutMs: 1_000,
    async send(messages) {
      seen.push(...messages.map(({ content }) => content.body))
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const flaky = { ...store, eventTypes: { ...store.eventTypes, version } }
  const s = await setup({ database, store: flaky, linkSecret, publicUrl: baseUrl, providers: { email: [provider] } })
  t.after(() => s.close())
  await furnish(s)
  away = true
  const sent = await s.call('POST', '/v1/notify', {
    event: 'order.shipped',
    user_id: 'alice',
    data: {},
    channels: ['email'],
  })
  const told = async () => (await s.call('GET', `/v1/notifications/${sent.body.id}`)).body.timeline
  const timeline = await eventually(told, (list) => list.some(({ what }: { what: string }) => what === 'postponed'))
  assert.match(JSON.stringify(timeline), /its links could not be read/)
  assert.deepEqual(seen, [], 'none goes out without its links')
  away = false
  s.clock.advance(5_000)
  await eventually(
    async () => seen,
    (list) => list.length === 1,
  )
  assert.match(seen[0] ?? '', /\/unsubscribe\//)
})

test('a click link leads nowhere but where it was made for', async (t) => {
  const s = await mailing(t, { tracking: 'clicks' })
  const { html } = await s.mail()
  assert.ok(!html.includes('/t/o/'))
  const path = pathOf(html, '/t/c/')
  for (const url of [`${path}A`, '/t/c/v1.WyJhIiwiaHR0cHM6Ly9ldmlsLmV4YW1wbGUiXQ.x', '/t/c/https%3A%2F%2Fevil.example'])
    assert.equal((await s.http.inject({ url, headers: reader })).statusCode, 404)
})

test('mails are not tracked unless somebody says so, and sensitive ones never', async (t) => {
  assert.ok(!/\/t\/[oc]\//.test((await (await mailing(t)).mail()).html))
  assert.ok(
    !/\/t\/[oc]\//.test((await (await mailing(t, { tracking: 'on', sensitive: true }, 'account.reset')).mail()).html),
  )
})

test('one-click unsubscription is a POST without cookies that keeps mails of that kind away, once and again', async (t) => {
  const s = await mailing(t)
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
    body.suppressions.map(({ scope, reason, channel }: Record<string, string>) => [channel, scope, reason]),
    [['email', 'order.shipped', 'unsubscribed']],
  )
  await s.call('DELETE', `/v1/suppressions/${body.suppressions[0].id}`)
  assert.equal(await outcome(), 'queued')
})

test('mails carry the unsubscribe header fields; what is critical leads to the preferences alone, what is sensitive nowhere', async (t) => {
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
    await furnish(s, event, settings)
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

test('a template that names the links itself gets no footer', async (t) => {
  const s = await mailing(t)
  await s.call('PUT', '/v1/templates/order.shipped/email/en', { subject: 's', body: 'Settings: {{ preferences_url }}' })
  const { text } = await s.mail()
  assert.match(text, /^Settings: https:\/\/notify\.example\/preferences\/[\w.-]+\s*$/)
})

test('on the preference page a user chooses channels, quiet hours and zone by a plain form', async (t) => {
  const s = await mailing(t)
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
  assert.deepEqual((await s.call('GET', '/v1/users/alice/preferences')).body.preferences, [])
  assert.equal((await post(form)).statusCode, 200)
  assert.deepEqual((await s.call('GET', '/v1/users/alice/preferences')).body.preferences, [
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

test('mail programs unsubscribe with multipart/form-data or with no body as they do with a form', async (t) => {
  const s = await mailing(t)
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
    const { suppressions } = (await s.call('GET', '/v1/suppressions?user_id=alice')).body
    assert.equal(suppressions.length, 1)
    assert.equal(suppressions[0].detail, post.payload ? 'one-click, from a mail' : 'on the page, from a mail')
    await s.call('DELETE', `/v1/suppressions/${suppressions[0].id}`)
  }
})

test('whoever unsubscribed is led to the preference page, and takes it back there', async (t) => {
  const s = await mailing(t)
  const path = pathOf((await s.mail()).text, '/unsubscribe/')
  const done = await s.http.inject({ method: 'POST', url: path })
  const [, preferences = ''] = /href="(\/preferences\/[\w.-]+)"/.exec(done.body) ?? []
  const page = await s.http.inject({ url: preferences })
  const email = /name="on:order.shipped" value="email"( checked)?/
  assert.equal(email.exec(page.body)?.[1], undefined)
  const form = new URLSearchParams([...shownOn(page.body), ['on:order.shipped', 'email']])
  const saved = await s.http.inject({ method: 'POST', url: preferences, headers: asForm, payload: form.toString() })
  assert.equal(email.exec(saved.body)?.[1], ' checked')
  assert.deepEqual((await s.call('GET', '/v1/suppressions?user_id=alice')).body.suppressions, [])
})

const asForm = { 'content-type': 'application/x-www-form-urlencoded', origin: baseUrl }

/** What a browser would send of a page that nothing was changed on. */
function shownOn(page: string): [string, string][] {
  const hidden = [...page.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  const boxes = [...page.matchAll(/type="checkbox" name="([^"]+)" value="([^"]+)" checked/g)]
  const fields = [...page.matchAll(/<input id="\w+" name="(\w+)"[^>]*? value="([^"]*)"/g)]
  return [...hidden, ...boxes, ...fields].map(([, name = '', value = '']): [string, string] => [name, value])
}

test('of two open preference pages each changes what was changed on it, and nothing else', async (t) => {
  const s = await mailing(t)
  await s.call('PUT', '/v1/recipients/alice', { email: 'alice@example.com', zoneinfo: 'Europe/Berlin' })
  const path = pathOf((await s.mail()).text, '/preferences/')
  const fields = shownOn((await s.http.inject({ url: path })).body)
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
  assert.deepEqual((await s.call('GET', '/v1/users/alice/preferences')).body.preferences, [
    { user_id: 'alice', event_type: '*', quiet_hours: { start: '22:00', end: '07:00' } },
    { user_id: 'alice', event_type: 'order.shipped', channels: ['email', 'in-app'] },
  ])
  assert.deepEqual((await s.call('GET', '/v1/recipients/alice')).body, {
    user_id: 'alice',
    email: 'alice@example.com',
    zoneinfo: 'Europe/Paris',
  })
})
