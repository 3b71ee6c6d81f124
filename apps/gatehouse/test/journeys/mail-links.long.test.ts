import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type SmtpFake, startSmtp } from '@gatehouse/fakes'
import { findProgram, freePort, temporaryFolder, testWith } from '@gatehouse/testing'
import { chromium, type Page } from 'playwright-core'
import { everyLook, faultless } from '../support/accessibility.ts'
import { Producer } from '../support/producer.ts'
import { type Program, started } from '../support/program.ts'

const secret = 'the-secret-of-a-shop-that-writes'
const reader = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

/** A shop that mails over a server of its own and signs what it mails. */
function configuration(smtp: string): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  return JSON.stringify({
    clients: [
      {
        client_id: 'shop',
        client_secret: secret,
        grant_types: ['client_credentials'],
        scopes: ['write:notifications', 'read:notifications', 'admin:notifications', 'read:personal-data'],
        plan: 'unlimited',
      },
    ],
    notify: { tracking: 'on', cap: 1000 },
    event_types: [
      { event: 'order.shipped', title: 'Orders on their way', channels: ['push', 'email', 'in-app'] },
      { event: 'medical.result', channels: ['email'], tracking: 'off' },
      { event: 'security.alert', channels: ['email', 'sms'], priority: 'critical' },
    ],
    recipients: [{ user_id: 'alice', email: 'alice@example.com', zoneinfo: 'Europe/Berlin' }],
    providers: {
      email: [
        {
          provider: 'smtp',
          url: smtp,
          from: 'Shop <shop@example.com>',
          dkim: { domain: 'example.com', selector: 's', private_key: key },
        },
      ],
    },
  })
}

/** Header fields by name, unfolded, and the whole content decoded. */
function readMail(raw: string): { readonly head: ReadonlyMap<string, string>; readonly content: string } {
  const [head = '', ...rest] = raw.split('\r\n\r\n')
  const fields = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const content = rest
    .join('\r\n\r\n')
    .replaceAll('=\r\n', '')
    .replaceAll(/=([\dA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  const named = fields.map((field): [string, string] => [
    field.slice(0, field.indexOf(':')).toLowerCase(),
    field.slice(field.indexOf(':') + 1).trim(),
  ])
  return { head: new Map(named), content }
}

async function eventually<T>(ask: () => Promise<T> | T, wanted: (answer: T) => boolean): Promise<T> {
  for (let attempts = 0; ; attempts++) {
    const answer = await ask()
    if (wanted(answer)) return answer
    if (attempts > 1_200) throw new Error(`it never came to pass; the last answer: ${JSON.stringify(answer)}`)
    await pause(50)
  }
}

describe('the links of mails, from the gateway to the reader', () => {
  let program: Program
  let smtp: SmtpFake
  let shop: Producer

  before(async () => {
    smtp = await startSmtp()
    const file = join(temporaryFolder('gatehouse-mail-links'), 'gatehouse.yaml')
    writeFileSync(file, configuration(smtp.url))
    const port = await freePort()
    program = await started({ port, env: { GATEHOUSE_CONFIG: file, BASE_URL: `http://localhost:${port}` } })
    shop = new Producer({ url: program.url, clientId: 'shop', clientSecret: secret })
    await shop.signIn()
    for (const event of ['order.shipped', 'medical.result', 'security.alert'])
      await shop.call('PUT', `/v1/templates/${event}/email/en`, {
        subject: 'Order {{ id }}',
        body: 'It left.',
        html: '<html><body><p>It left. <a href="https://shop.example/{{ id }}?a=1&amp;b=2">Track it</a></p></body></html>',
      })
  })
  after(async () => {
    await program?.stop()
    await smtp?.stop()
  })

  const mail = async (event: string) => {
    const known = smtp.requests.length
    const { id, deliveries } = await shop.notify({ event, user_id: 'alice', data: { id: 'A-1' }, channels: ['email'] })
    if (deliveries[0]?.outcome !== 'queued')
      return { id, outcome: deliveries[0]?.outcome, head: new Map(), content: '' }
    await eventually(
      () => smtp.requests.length,
      (count) => count > known,
    )
    return { id, outcome: 'queued', ...readMail(smtp.requests.at(-1)?.raw ?? '') }
  }
  const linkIn = (content: string, path: string) =>
    new RegExp(`${program.url}${path}[\\w.-]+`).exec(content)?.[0] ?? assert.fail(`no ${path} in ${content}`)
  const stateOf = async (id: string) =>
    ((await shop.call('GET', `/v1/notifications/${id}`)) as { deliveries: [{ state: string }] }).deliveries[0].state
  const open = (url: string) => fetch(url, { headers: reader, redirect: 'manual' })
  const unsubscribe = (url: string) => fetch(url, { method: 'POST', body: oneClick(), redirect: 'manual' })

  test('a mail is opened by its pixel and clicked by its links, and no link leads anywhere else', async () => {
    const { id, content } = await mail('order.shipped')
    assert.equal((await open(linkIn(content, '/t/o/'))).headers.get('content-type'), 'image/gif')
    await eventually(
      () => stateOf(id),
      (state) => state === 'opened',
    )
    const link = linkIn(content, '/t/c/')
    for (const changed of [
      `${link}A`,
      link.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      `${program.url}/t/c/x`,
    ]) {
      const refused = await open(changed)
      assert.deepEqual([refused.status, refused.headers.get('location')], [404, null])
    }
    const followed = await open(link)
    assert.deepEqual([followed.status, followed.headers.get('location')], [302, 'https://shop.example/A-1?a=1&b=2'])
    await eventually(
      () => stateOf(id),
      (state) => state === 'clicked',
    )
  })

  test('an event type without tracking has neither pixel nor click links while others have', async () => {
    const { content } = await mail('medical.result')
    assert.ok(!content.includes('/t/'))
    assert.ok(content.includes('https://shop.example/A-1?a=1&amp;b=2'))
  })

  test('both one-click unsubscribe header fields are signed, and their POST takes effect', async () => {
    const { head, content } = await mail('order.shipped')
    const [, link = ''] = /^<(.+)>$/.exec(head.get('list-unsubscribe') ?? '') ?? []
    assert.equal(link, linkIn(content, '/unsubscribe/'))
    assert.equal(head.get('list-unsubscribe-post'), 'List-Unsubscribe=One-Click')
    const signed =
      /\bh=([^;]+);/
        .exec(head.get('dkim-signature') ?? '')?.[1]
        ?.toLowerCase()
        .replaceAll(/\s/g, '') ?? ''
    for (const name of ['list-unsubscribe', 'list-unsubscribe-post', 'from', 'subject'])
      assert.ok(signed.split(':').includes(name), `${name} in ${signed}`)
    assert.equal((await open(link)).status, 200)
    assert.equal((await mail('order.shipped')).outcome, 'queued', 'looking changes nothing')
    for (const times of [1, 2]) assert.equal((await unsubscribe(link)).status, 200, `${times}`)
    assert.equal((await mail('order.shipped')).outcome, 'undeliverable')
    assert.equal((await mail('medical.result')).outcome, 'queued', 'of this kind alone')
    const { items: suppressions } = (await shop.call('GET', '/v1/suppressions?user_id=alice')) as {
      items: Array<{ id: string; reason: string; scope: string; channel: string }>
    }
    assert.deepEqual(
      suppressions.map(({ reason, scope, channel }) => [channel, scope, reason]),
      [['email', 'order.shipped', 'unsubscribed']],
    )
    await shop.call('DELETE', `/v1/suppressions/${suppressions[0]?.id}`)
  })

  test('what is critical can not be unsubscribed from, and leads to the preferences all the same', async () => {
    const { head, content } = await mail('security.alert')
    assert.equal(head.get('list-unsubscribe'), undefined)
    assert.ok(!content.includes('/unsubscribe/'))
    assert.equal((await open(linkIn(content, '/preferences/'))).status, 200)
  })

  const inBrowser = async (work: (tab: Page) => Promise<void>) => {
    const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
    try {
      const tab = await (await browser.newContext({ javaScriptEnabled: true, locale: 'en' })).newPage()
      const complaints: string[] = []
      tab.on('console', (message) => complaints.push(message.text()))
      await work(tab)
      assert.deepEqual(
        complaints.filter((text) => !text.startsWith('Failed to load resource')),
        [],
        'no page breaks its own policy',
      )
    } finally {
      await browser.close()
    }
  }

  testWith(
    'chromium',
    'a reader unsubscribes, is led to the preference page, and chooses there by keyboard and mouse',
    async () => {
      const { content } = await mail('order.shipped')
      await inBrowser(async (tab) => {
        const heading = () => tab.textContent('h1')
        await tab.goto(linkIn(content, '/unsubscribe/'))
        assert.match((await tab.textContent('.lead')) ?? '', /Orders on their way/)
        await tab.focus('button')
        await tab.keyboard.press('Enter')
        await tab.getByRole('status').waitFor()
        await tab.click('a[href^="/preferences/"]')
        assert.equal(await heading(), 'Notification settings')
        const orders = tab.locator('fieldset', { hasText: 'Orders on their way' })
        assert.equal(await orders.getByLabel('Email').isChecked(), false)
        await orders.getByLabel('Email').check()
        await tab.fill('#quiet_start', '22:00')
        await tab.fill('#quiet_end', '07:30')
        await press(tab, 'Save')
        await tab.getByRole('status').waitFor()
        assert.equal(await orders.getByLabel('Email').isChecked(), true)
        assert.equal(await tab.inputValue('#quiet_end'), '07:30')
        await tab.fill('#zoneinfo', 'Mars/Base')
        await press(tab, 'Save')
        await tab.getByRole('alert').waitFor()
        assert.equal(await tab.inputValue('#zoneinfo'), 'Mars/Base', 'what was typed is still there')
        await tab.fill('#zoneinfo', 'Europe/Berlin')
        await tab.fill('#quiet_start', '')
        await tab.fill('#quiet_end', '')
        await press(tab, 'Save')
        await tab.getByRole('status').waitFor()
        await press(tab, 'Unsubscribe from everything')
        await press(tab, 'Subscribe again')
        await orders.waitFor()
      })
      assert.equal((await mail('order.shipped')).outcome, 'queued')
    },
  )

  testWith('chromium', 'an accessibility check finds no fault on any page that a mail leads to', async () => {
    const { content } = await mail('order.shipped')
    const [unsubscribing, preferences] = [linkIn(content, '/unsubscribe/'), linkIn(content, '/preferences/')]
    await inBrowser((tab) =>
      everyLook(tab, async (look) => {
        const shown = async (name: string) => {
          await faultless(tab, `${name} ${look}`)
          const wide = await tab.evaluate('document.documentElement.scrollWidth - innerWidth')
          assert.equal(wide, 0, `${name} ${look} is not scrolled sideways`)
          const folder = process.env.SCREENSHOTS
          if (folder) await tab.screenshot({ path: join(folder, `${name} ${look}.png`), fullPage: true })
        }
        await tab.goto(unsubscribing)
        await shown('unsubscribe')
        await tab.click('button')
        await shown('unsubscribed')
        await tab.goto(preferences)
        await shown('preferences')
        await press(tab, 'Save')
        await shown('saved')
        await tab.fill('#zoneinfo', 'Mars/Base')
        await press(tab, 'Save')
        await shown('wrong')
        await press(tab, 'Unsubscribe from everything')
        await shown('nothing')
        await press(tab, 'Subscribe again')
        await tab.goto(`${preferences}x`)
        await shown('cut off')
      }),
    )
  })
})

const press = (tab: Page, name: string) => tab.getByRole('button', { name, exact: true }).click()

/** As RFC 8058 §8 shows it. */
function oneClick(): FormData {
  const form = new FormData()
  form.set('List-Unsubscribe', 'One-Click')
  return form
}
