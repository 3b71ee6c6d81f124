import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { faultless } from '../support/accessibility.ts'
import { demoToken } from '../support/demo-client.ts'
import { type Program, started } from '../support/program.ts'
import { eventually } from '../support/shop.ts'
import { openWatched } from '../support/watched-page.ts'

/** An HTML mail that tries everything. */
const evilMail = (evil: string) => `<style>@import url(${evil}/a.css); h1 { background: url(${evil}/b.png) }</style>
<link rel="stylesheet" href="${evil}/c.css"><meta http-equiv="refresh" content="0;url=${evil}/d">
<script>top.document.title = 'taken'; fetch('${evil}/e')</script><base href="${evil}/">
<img src="${evil}/f.png" onerror="top.document.title = 'taken'"><h1>Hello {{ name }}</h1>
<form action="${evil}/g"><input name="q" value="secret"><button>Win</button></form>
<iframe src="${evil}/h"></iframe><a id="top" target="_top" href="${evil}/i">Top</a>`

/** Another origin, which remembers what it was asked for. */
async function startEvil() {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, requests, close: () => server.close() }
}

describe('the pages of a first run', () => {
  let program: Program
  let token: string
  let browser: Browser | undefined
  let evil: Awaited<ReturnType<typeof startEvil>>
  const paths: Record<string, string> = { start: '/', mailbox: '/dev/mailbox', shop: '/dev/inbox', docs: '/docs' }

  before(async () => {
    program = await started()
    evil = await startEvil()
    token = await demoToken(program)
    await api('PUT', '/v1/templates/evil/email/en', { subject: 'You won', body: 'Hello', html: evilMail(evil.url) })
    await api('PUT', '/v1/event-types/evil', { channels: ['email'] })
    await api('POST', '/v1/notify', { event: 'evil', user_id: 'alice', data: { name: 'Alice' } })
    await ship('A-1 – B')
    const messages = await eventually(listMessages, (listed) => listed.length === 5)
    for (const { id, channel, event } of messages) paths[event === 'evil' ? event : channel] = `/dev/mailbox/${id}`
    const executablePath = findProgram('chromium')
    if (executablePath) browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  })
  after(async () => {
    await browser?.close()
    evil?.close()
    await program?.stop()
  })

  const api = async (method: string, path: string, body: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${program.url}${path}`, { method, headers, body: JSON.stringify(body) })
    assert.ok(answer.ok, await answer.text())
  }
  const ship = (order: string) =>
    api('POST', '/v1/notify', {
      event: 'order.shipped',
      user_id: 'alice',
      channels: ['push', 'email', 'sms', 'in-app'],
      data: { order_id: order, item: 'a red bicycle — with a bell', tracking_url: 'https://shop.example/track' },
    })
  const listMessages = async () => {
    const answer = await fetch(`${program.url}/dev/mailbox`, { headers: { accept: 'application/json' } })
    return ((await answer.json()) as { messages: Array<{ id: string; channel: string; event: string }> }).messages
  }
  /** Runs `work` in a tab of its own, which fails when anything went wrong in it. */
  const inTab = async (options: BrowserContextOptions, work: (page: Page) => Promise<void>) => {
    const context = (await browser?.newContext({ locale: 'en', ...options })) ?? assert.fail('there is no browser')
    const { page, expectNothing } = await openWatched(context, program.url)
    await work(page)
    expectNothing(page.url())
    await context.close()
  }
  const isReady = (page: Page, name: string) =>
    name === 'docs'
      ? page.locator('.references-rendered h1').first().waitFor()
      : page.locator('h1:visible, h2:visible').first().waitFor()
  const overflow = (page: Page) => page.evaluate('document.documentElement.scrollWidth - innerWidth')

  test('a program reads what runs and where to go on, and no secret', async () => {
    const answer = await fetch(program.url)
    const text = await answer.text()
    const { services, engines, links } = JSON.parse(text) as Record<string, Record<string, string>>
    assert.deepEqual([services, engines], [['identity', 'notify', 'gateway', 'console'], { database: 'ok' }])
    for (const link of Object.values(links ?? {})) assert.equal((await fetch(link)).status, 200, link)
    const page = await (await fetch(program.url, { headers: { accept: 'text/html' } })).text()
    const secret = /-u &#39;demo:([^&]+)&#39;/.exec(page)?.[1] ?? assert.fail(page)
    assert.ok(!text.includes(secret))
  })

  testWith('chromium', 'every page is accessible and fits, light and dark, wide and narrow', async () => {
    for (const [name, path] of Object.entries(paths)) {
      if (name === 'evil') continue
      await inTab({}, async (page) => {
        await page.goto(`${program.url}${path}`)
        await isReady(page, name)
        for (const colorScheme of ['light', 'dark'] as const)
          for (const width of [1280, 390, 320]) {
            await page.emulateMedia({ colorScheme })
            await page.setViewportSize({ width, height: 800 })
            if (name === 'docs') await page.locator(`body.${colorScheme}-mode`).waitFor()
            await page.evaluate('Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {})))')
            assert.equal(await overflow(page), 0, `${name} ${colorScheme} ${width}`)
            await faultless(page, `${name} ${colorScheme} ${width}`)
          }
      })
    }
  })

  testWith('chromium', 'every page speaks German and fits', async () => {
    for (const [name, path] of Object.entries(paths)) {
      if (name === 'evil') continue
      await inTab({ locale: 'de', viewport: { width: 320, height: 800 } }, async (page) => {
        await page.goto(`${program.url}${path}`)
        await isReady(page, name)
        assert.equal(await page.getAttribute('html', 'lang'), 'de')
        await page.getByRole('link', { name: 'API-Referenz' }).first().waitFor()
        assert.equal(await overflow(page), 0, name)
      })
    }
  })

  testWith('chromium', 'a request is tried out from the API reference, and nothing leaves the origin', async () => {
    await inTab({ viewport: { width: 1280, height: 900 } }, async (page) => {
      await page.goto(`${program.url}/docs#tag/operations`)
      await page.getByRole('button', { name: /Test Request.*get \/healthz/ }).click()
      const answered = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/healthz')
      await page.getByRole('button', { name: /^Send/ }).first().click()
      assert.equal((await answered).status(), 200)
    })
  })

  testWith('chromium', 'a mail with scripts, forms, frames and remote files does nothing', async () => {
    const context = (await browser?.newContext()) ?? assert.fail('there is no browser')
    const page = await context.newPage()
    await page.goto(`${program.url}${paths.evil}`)
    const frame = page.frameLocator('iframe')
    await frame.getByText('Hello Alice').waitFor()
    await frame.getByRole('button', { name: 'Win' }).click()
    await frame.locator('#top').click({ noWaitAfter: true })
    await page.evaluate("fetch('/healthz')")
    assert.deepEqual(evil.requests, [])
    assert.equal(new URL(page.url()).pathname, paths.evil)
    assert.match(await page.title(), /^You won/)
    await context.close()
  })

  testWith('chromium', 'the mailbox is live, and the state line grows as one answers as the provider', async () => {
    await inTab({ viewport: { width: 1280, height: 900 } }, async (page) => {
      await page.goto(`${program.url}${paths.email}`)
      await page.locator('.live', { hasText: 'Live' }).waitFor()
      await ship('A-77')
      await page.locator('#list a', { hasText: 'A-77' }).first().waitFor()
      const button = page.getByRole('button', { name: 'Opened' })
      await button.focus()
      await page.keyboard.press('Enter')
      await page.locator('.states .opened.reached[aria-current=step]').waitFor()
      await page.locator('.states .delivered.implied').waitFor()
      assert.equal(new URL(page.url()).pathname, paths.email, 'the page was not left')
      await page.getByRole('button', { name: 'Bounced' }).press('Enter')
      await page.locator('.states .bounced.reached').waitFor()
      assert.equal(await page.locator('.reports button:enabled').count(), 0)
    })
  })

  testWith('chromium', 'the mailbox works without scripts', async () => {
    await inTab({ javaScriptEnabled: false }, async (page) => {
      await page.goto(`${program.url}/dev/mailbox`)
      await page.selectOption('#channel', 'sms')
      await page.getByRole('button', { name: 'Filter' }).click()
      await page.locator('#list a').last().click()
      await page
        .getByText(/GSM-7|UCS-2/)
        .first()
        .waitFor()
      await page.getByRole('button', { name: 'Delivered' }).click()
      await page.locator('.states .delivered.reached[aria-current=step]').waitFor()
    })
  })

  testWith('chromium', 'the pages are used with the keyboard: past the bar, into the list and back', async () => {
    await inTab({}, async (page) => {
      await page.goto(`${program.url}/dev/mailbox`)
      await page.keyboard.press('Tab')
      assert.equal(await page.evaluate('document.activeElement.className'), 'skip')
      await page.keyboard.press('Enter')
      await page.keyboard.press('Tab')
      assert.equal(await page.evaluate('document.activeElement.id'), 'channel')
      for (let n = 0; n < 3; n++) await page.keyboard.press('Tab')
      assert.match(String(await page.evaluate('document.activeElement.id')), /^m-/)
      await page.keyboard.press('Enter')
      await page.locator('article.message').waitFor()
    })
  })

  testWith('chromium', 'people sign in to the sample shop and send themselves something', async () => {
    const password = /user +alice +password (\S+)/.exec(program.stdout())?.[1] ?? ''
    await inTab({}, async (page) => {
      await page.goto(`${program.url}/dev/inbox`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.fill('#username', 'alice')
      await page.fill('#password', password)
      await page.keyboard.press('Enter')
      await page.click('button[value=allow]')
      await page.locator('#who', { hasText: 'Alice Adams' }).waitFor()
      assert.equal(page.url(), `${program.url}/dev/inbox`)
      const inbox = page.locator('gatehouse-inbox')
      // What came before this test counts once the list has come; until then the badge says 0, and is hidden.
      const badge = inbox.locator('.badge')
      await badge.waitFor()
      const before = Number(await badge.textContent())
      await page.getByRole('button', { name: 'Send' }).click()
      await page.locator('#said li', { hasText: 'In-app: on its way' }).waitFor()
      await inbox.locator('.badge', { hasText: new RegExp(`^${before + 1}$`) }).waitFor()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.waitForURL('**/end_session')
    })
  })

  test('the calls that the start page shows work when they are pasted', async () => {
    const page = await (await fetch(program.url, { headers: { accept: 'text/html' } })).text()
    const calls = [...page.matchAll(/<pre[^>]*><code>(.*?)<\/code><\/pre>/gs)].map(([, text = '']) => plainText(text))
    assert.equal(calls.length, 4)
    const output = execFileSync('bash', ['-c', calls.join("\necho; echo '---'\n")], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 120_000,
    })
    const [token, sent, timeline = '', limited = ''] = output.split('---\n').map((part) => part.trim())
    assert.deepEqual([token, sent], ['', ''], 'the token and the id are kept in variables')
    assert.equal(JSON.parse(timeline).event, 'order.shipped')
    assert.match(limited, /^(200 )+(429 ?)+\n.*HTTP\/1.1 429.*x-ratelimit-limit: 100.*retry-after: \d+/is)
  })
})

const plainText = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
