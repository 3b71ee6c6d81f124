import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '@gatehouse/kit'
import fc from 'fast-check'
import type { Provider } from '../../src/index.ts'
import { createLinks } from '../../src/links/links.ts'
import { notifyDatabase } from '../support/engine/database.ts'
import { migrateNotify, postgresNotifyStore } from '../support/engine/engine.ts'
import { baseUrl, linkSecret, pathOf, reader, setupMailLinks, stateOf } from '../support/providers/mail-links.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

test('a link is valid for its purpose only, and invalid after any change', () => {
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

test('a tracked mail is opened by its pixel and clicked by its links', async (t) => {
  const s = await setupMailLinks(t, { tracking: 'on' })
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

test('opens and clicks of declared machines are recorded but do not change the state', async (t) => {
  const s = await setupMailLinks(t, { tracking: 'on' })
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
  const entries = await eventually(byMachines, (list) => list.length === 2)
  assert.deepEqual(
    entries.map(({ what, detail }: { what: string; detail: object }) => [what, detail]),
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

test('a link leads to the address its author wrote, with entities and any alphabet', async (t) => {
  const s = await setupMailLinks(t, { tracking: 'on' })
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

test('a link from the data of a mail is tracked on hosts of its template and its settings alone', async (t) => {
  const s = await setupMailLinks(t, { tracking: 'on' }, 'order.shipped', { trackedHosts: ['Pay.example'] })
  await s.call('PUT', '/v1/templates/order.shipped/email/en', {
    subject: 's',
    body: 'b',
    html: '<a href="https://shop.example">x</a>{% for url in urls %}<a href="{{ url }}">y</a>{% endfor %}',
  })
  const leftAlone = [
    'https://evil.example/',
    'https://shop.example.evil.example/',
    'https://shop.example@evil.example/',
  ]
  const tracked = ['https://shop.example/7', 'https://pay.example/7']
  const { html } = await s.mail({ urls: [...leftAlone, ...tracked] })
  const hrefs = [...html.matchAll(/<a href="([^"]+)">[xy]/g)].map(([, href = '']) => href)
  const targets = await Promise.all(
    hrefs.map(async (href) => {
      if (!href.startsWith(`${baseUrl}/t/c/`)) return href
      return (await s.http.inject({ url: href.slice(baseUrl.length), headers: reader })).headers.location
    }),
  )
  assert.deepEqual(
    hrefs.filter((href) => !href.startsWith(baseUrl)),
    leftAlone,
  )
  assert.deepEqual(targets, ['https://shop.example/', ...leftAlone, ...tracked])
})

test('a truncated link shows a page that says so', async (t) => {
  const s = await setupMailLinks(t, { tracking: 'on' })
  const path = pathOf((await s.mail()).html, '/t/c/').slice(0, -5)
  const answer = await s.http.inject({ url: path, headers: { ...reader, 'accept-language': 'de' } })
  assert.deepEqual([answer.statusCode, answer.headers['content-type']], [404, 'text/html; charset=utf-8'])
  assert.match(answer.body, /Dieser Link funktioniert nicht/)
})

test('mails are delayed without an attempt while the link settings cannot be read', async (t) => {
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
  await seedEventType(s)
  away = true
  const sent = await s.call('POST', '/v1/notify', {
    event: 'order.shipped',
    user_id: 'alice',
    data: {},
    channels: ['email'],
  })
  const readTimeline = async () => (await s.call('GET', `/v1/notifications/${sent.body.id}`)).body.timeline
  const timeline = await eventually(readTimeline, (list) =>
    list.some(({ what }: { what: string }) => what === 'postponed'),
  )
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

test('a click link leads only to the address it was made for', async (t) => {
  const s = await setupMailLinks(t, { tracking: 'clicks' })
  const { html } = await s.mail()
  assert.ok(!html.includes('/t/o/'))
  const path = pathOf(html, '/t/c/')
  for (const url of [`${path}A`, '/t/c/v1.WyJhIiwiaHR0cHM6Ly9ldmlsLmV4YW1wbGUiXQ.x', '/t/c/https%3A%2F%2Fevil.example'])
    assert.equal((await s.http.inject({ url, headers: reader })).statusCode, 404)
})

test('mails are not tracked by default, and sensitive ones never', async (t) => {
  assert.ok(!/\/t\/[oc]\//.test((await (await setupMailLinks(t)).mail()).html))
  assert.ok(
    !/\/t\/[oc]\//.test(
      (await (await setupMailLinks(t, { tracking: 'on', sensitive: true }, 'account.reset')).mail()).html,
    ),
  )
})
