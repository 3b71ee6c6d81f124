import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { eventually, type Setup, setup } from '../support/setup.ts'

/** An HTML mail that tries everything. */
const evil = `<style>@import url(https://evil.example/a.css); p { background: url(https://evil.example/b.png) }</style>
<script>parent.document.title = 'taken'</script><img src="https://evil.example/c.png" onerror="alert(1)">
<form action="https://evil.example"><input name="password"><button>Send</button></form>
<meta http-equiv="refresh" content="0;url=https://evil.example"><base href="https://evil.example/"><p>Hello {{ name }}</p>
@media (prefers-color-scheme: dark)`

describe('the mailbox', () => {
  let s: Setup
  before(async () => {
    s = await setup()
    await s.call('PUT', '/v1/templates/news/email/en', { subject: 'News for {{ name }}', body: 'Hello', html: evil })
    await s.call('PUT', '/v1/templates/news/sms/en', { body: 'It’s {{ name }}' })
    await s.call('PUT', '/v1/event-types/news', { channels: ['email', 'sms'] })
    for (const user of ['ann', 'bob']) {
      await s.call('PUT', `/v1/recipients/${user}`, { email: `${user}@example.com`, phone_number: '+447700900123' })
      await s.call('POST', '/v1/notify', { event: 'news', user_id: user, data: { name: `<b>${user}</b>` } })
    }
    await eventually(messages, (listed) => listed.length === 4)
  })
  after(() => s.close())

  const get = (url: string, headers: Record<string, string> = {}) =>
    s.http.inject({ url, headers: { accept: 'text/html', ...headers } })
  const messages = async (query = '') => {
    const { body } = await s.call('GET', `/dev/mailbox${query}`)
    return body.messages as Array<{ id: string; user_id: string; channel: string }>
  }
  const mailOf = async (user: string) =>
    (await messages(`?user=${user}&channel=email`))[0]?.id ?? assert.fail('there is no mail')

  test('lists what a channel and a user are chosen for, as a page and as data', async () => {
    const chosen = async (query: string) =>
      (await messages(query)).map(({ user_id, channel }) => `${user_id} ${channel}`)
    assert.deepEqual((await chosen('?channel=sms')).sort(), ['ann sms', 'bob sms'])
    assert.deepEqual((await chosen('?user=ann')).sort(), ['ann email', 'ann sms'])
    assert.deepEqual(await chosen('?user=nobody'), [])
    const page = (await get('/dev/mailbox?channel=sms&user=bob')).body
    assert.equal(page.match(/<a id="m-/g)?.length, 1)
    assert.match((await get('/dev/mailbox?user=nobody')).body, /No message matches the filter/)
    assert.equal((await get('/dev/mailbox?channel=fax')).statusCode, 400)
    assert.equal((await get('/dev/mailbox?channel=&user=')).statusCode, 200, 'the form as it is sent without a choice')
  })

  test('reads on from a message, and each page has a bound', async () => {
    const all = await messages()
    assert.deepEqual(await messages(`?before=${encodeURIComponent(all[1]?.id ?? '')}`), all.slice(2))
    assert.deepEqual(await messages('?before=nowhere'), [])
    assert.deepEqual(await messages('?limit=2'), all.slice(0, 2))
  })

  test('shows a message with its state line, its other channels, and words in German', async () => {
    const { body } = await get(`/dev/mailbox/${await mailOf('ann')}`, { 'accept-language': 'de' })
    assert.match(body, /<html lang="de">/)
    assert.match(body, /News for &lt;b&gt;ann&lt;\/b&gt;/)
    assert.match(body, /<li class="sent reached" aria-current="step">/)
    assert.match(body, /Dieselbe Benachrichtigung als.*SMS/s)
    assert.equal((await get('/dev/mailbox/nothing')).statusCode, 404)
  })

  test('a page that did not change is not sent again; an answer of the provider changes it', async () => {
    const id = await mailOf('bob')
    const first = await get(`/dev/mailbox/${id}`)
    const tag = String(first.headers.etag)
    assert.equal((await get(`/dev/mailbox/${id}`, { 'if-none-match': tag })).statusCode, 304)
    await s.call('POST', `/dev/mailbox/${id}/opened`)
    const changed = await get(`/dev/mailbox/${id}`, { 'if-none-match': tag })
    assert.equal(changed.statusCode, 200)
    assert.match(changed.body, /<li class="delivered implied">.*<li class="opened reached" aria-current="step">/s)
    assert.match(changed.body, /id="report-opened" disabled/)
  })

  test('an SMS names its encoding, its segments and the character that forces UCS-2', async () => {
    const [sms] = await messages('?user=ann&channel=sms')
    const { body } = await get(`/dev/mailbox/${sms?.id}`)
    assert.match(body, /UCS-2.*U\+2019 typographic apostrophe/s)
  })

  test('an HTML mail is a document that may do nothing, in the surroundings that were chosen', async () => {
    const id = await mailOf('ann')
    const { headers, body } = await get(`/dev/mailbox/${id}/html?scheme=dark`)
    const policy = String(headers['content-security-policy'])
    for (const rule of [
      'sandbox allow-popups allow-popups-to-escape-sandbox;',
      "default-src 'none'",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'self'",
    ])
      assert.ok(policy.includes(rule), policy)
    assert.doesNotMatch(policy, /script-src|allow-scripts|allow-forms|allow-same-origin|https?:/)
    assert.ok(body.includes('@media (min-width: 0px)'), body)
    assert.ok((await get(`/dev/mailbox/${id}/html`)).body.includes('@media (max-width: 0px)'))
    const [sms] = await messages('?user=ann&channel=sms')
    assert.equal((await get(`/dev/mailbox/${sms?.id}/html`)).statusCode, 404)
  })

  test('its pages load nothing but their own files', async () => {
    const { headers } = await get('/dev/mailbox')
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /default-src 'none'; style-src 'self';/)
    assert.doesNotMatch(policy, /unsafe|https?:/)
    for (const file of ['style.css', 'site.css', 'mailbox.css', 'mailbox.js', 'icon.svg'])
      assert.equal((await get(`/dev/mailbox/assets/${file}`)).statusCode, 200, file)
    for (const file of ['..%2Fpage.ts', 'page.ts', 'nothing.css', '%2e%2e'])
      assert.ok((await get(`/dev/mailbox/assets/${file}`)).statusCode >= 400, file)
  })
})
