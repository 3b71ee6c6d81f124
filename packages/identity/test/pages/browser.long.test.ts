import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '@gatehouse/kit'
import { findProgram, testWith } from '@gatehouse/testing'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { TestApp } from '../support/factors/factors.ts'
import { pkce, users } from '../support/journey.ts'
import { type LiveIdentity, startIdentity } from '../support/live.ts'

interface BrowserTest {
  readonly server: LiveIdentity
  readonly page: Page
  /** Where the response is posted to, and what was received there. */
  readonly callback: string
  readonly posted: URLSearchParams[]
}

const photos = 'https://a-long-name-that-does-not-break-anywhere.photos.example/v1'

/** Runs `work` in Chromium, with a client that receives its responses by form_post. */
async function withBrowser(options: BrowserContextOptions, work: (test: BrowserTest) => Promise<void>): Promise<void> {
  const posted: URLSearchParams[] = []
  const application: Server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString()
    if (request.method === 'POST') posted.push(new URLSearchParams(body))
    response
      .setHeader('content-type', 'text/html')
      .end('<!doctype html><title>Back</title><h1>Back at the application</h1>')
  })
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve))
  const callback = `http://localhost:${(application.address() as AddressInfo).port}/callback`
  const tv = {
    client_id: 'tv',
    client_name: 'Living room TV',
    token_endpoint_auth_method: 'none' as const,
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code' as const],
    scopes: ['openid'],
  }
  const web = {
    client_id: 'web',
    client_secret: 'web-secret-0123456789abc',
    redirect_uris: [callback],
    scopes: ['openid', 'profile', 'email', 'read:photos'],
    resources: [photos],
  }
  const settings = { mfa: 'optional', notify: async () => {} } as const
  const server = await startIdentity({ users, clients: [web, tv] }, { emailCode: true }, settings)
  const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
  try {
    const page = await (await browser.newContext(options)).newPage()
    await work({ server, page, callback, posted })
  } finally {
    await browser.close()
    await server.close()
    application.close()
  }
}

function authorizeAddress({ server }: BrowserTest): string {
  const { code_challenge } = pkce()
  const claims = JSON.stringify({ userinfo: { email: null, email_verified: null } })
  const access = { scope: 'openid profile read:photos', resource: photos, claims }
  const request = { client_id: 'web', response_type: 'code', ...access, state: 's', code_challenge }
  return `${server.issuer}/authorize?${new URLSearchParams({ ...request, response_mode: 'form_post' })}`
}

async function userCode({ server }: BrowserTest): Promise<string> {
  const response = await fetch(`${server.issuer}/device_authorization`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'tv', scope: 'openid' }),
  })
  return ((await response.json()) as { user_code: string }).user_code
}

/** The code of the app that the page sets up. */
async function codeOf(page: Page): Promise<string> {
  const html = await page.content()
  return new TestApp({ clock: systemClock }, { text: html }).code()
}

const heading = (page: Page) => page.textContent('h1')

testWith('chromium', 'people sign in, consent, connect a device and sign out without scripts', async () => {
  await withBrowser({ javaScriptEnabled: false }, async (at) => {
    const { page, posted, server } = at
    await page.goto(authorizeAddress(at))
    await page.fill('#username', 'alice')
    await page.fill('#password', 'wrong')
    await page.click('button')
    assert.match((await page.textContent('[role=alert]')) ?? '', /is incorrect/)
    await page.fill('#password', 'correct horse')
    await page.keyboard.press('Enter')
    await page.click('button[value=allow]')
    assert.equal(await heading(page), 'Redirecting')
    await page.click('button')
    assert.equal(await heading(page), 'Back at the application')
    assert.deepEqual(
      [posted[0]?.get('state'), posted[0]?.get('iss'), posted[0]?.has('code')],
      ['s', server.issuer, true],
    )
    await page.goto(`${server.issuer}/device`)
    await page.fill('#user_code', await userCode(at))
    await page.click('button')
    assert.equal(await heading(page), 'Connect Living room TV?')
    await page.click('button[value=allow]')
    assert.equal(await heading(page), 'Device connected')
    await page.goto(`${server.issuer}/account`)
    await page.click('a[href="/end_session"]')
    await page.click('button[value=leave]')
    assert.equal(await heading(page), 'Signed out')
  })
})

testWith('chromium', 'people set up an app and sign in with a recovery code without scripts', async () => {
  await withBrowser({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } }, async (at) => {
    const { page, server } = at
    const signIn = async () => {
      await page.fill('#username', 'alice')
      await page.fill('#password', 'correct horse')
      await page.click('button')
    }
    await page.goto(`${server.issuer}/account/factors/app`)
    await signIn()
    const { width = 0 } = (await page.locator('.qr svg').boundingBox()) ?? {}
    assert.ok(width > 150, 'the QR code is large enough to scan')
    await page.fill('#code', await codeOf(page))
    await page.click('button')
    assert.equal(await heading(page), 'Your recovery codes')
    const code = await page.textContent('ul.codes code')
    await page.click('button')
    assert.equal(await heading(page), 'Two-step verification')
    await page.goto(`${server.issuer}/end_session`)
    await page.click('button[value=leave]')
    await page.goto(`${server.issuer}/account`)
    await signIn()
    await page.click('summary')
    await page.fill('#recovery_code', code ?? '')
    await page.click('form:has(#recovery_code) button')
    assert.equal(await heading(page), 'Your account')
  })
})

testWith('chromium', 'a form_post response is submitted by script without violating the page’s policy', async () => {
  await withBrowser({}, async (at) => {
    const { page, posted } = at
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(authorizeAddress(at))
    await page.fill('#username', 'alice')
    await page.fill('#password', 'correct horse')
    await page.click('button')
    await page.click('button[value=allow]')
    await page.waitForURL(at.callback)
    assert.equal(posted.length, 1)
    assert.deepEqual(complaints, [])
  })
})

/** The minimum contrast of any text with its background, as WCAG 2.2 measures it. */
const minContrast = `(() => {
  const rgb = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number)
  const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0)
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor)
      if (colour.length === 3 || colour[3] > 0) return colour
    }
    return [255, 255, 255]
  }
  const texts = [...document.querySelectorAll('body *')].filter((element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '') || element.matches('input:not([type=hidden])'))
  return Math.min(...texts.map((element) => {
    const [low, high] = [light(rgb(getComputedStyle(element).color)), light(ground(element))].sort((a, b) => a - b)
    return (high + 0.05) / (low + 0.05)
  }))
})()`

/** Controls that cannot be focused, show no focus, or have no accessible name. */
const unreachable = `(() => [...document.querySelectorAll('a, button, input:not([type=hidden])')].filter((element) => {
  element.focus()
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const named = element.textContent.trim() !== '' || element.labels?.length > 0
  return document.activeElement !== element || outlineStyle === 'none' || parseFloat(outlineWidth) < 2 || !named
}).map((element) => element.outerHTML))()`

for (const colorScheme of ['light', 'dark'] as const) {
  testWith('chromium', `pages are readable and usable by keyboard on a narrow ${colorScheme} screen`, async () => {
    await withBrowser({ colorScheme, viewport: { width: 320, height: 640 } }, async (at) => {
      const { page, server } = at
      const look = async (name: string) => {
        assert.ok(Number(await page.evaluate(minContrast)) >= 4.5, `${name}: contrast`)
        await page.keyboard.press('Tab')
        assert.deepEqual(await page.evaluate(unreachable), [], name)
        assert.equal(
          await page.evaluate('document.documentElement.scrollWidth'),
          320,
          `${name}: no horizontal scrolling`,
        )
        assert.equal(await page.locator('h1').count(), 1, name)
      }
      await page.goto(`${server.issuer}/authorize?client_id=web&redirect_uri=https://evil.example/`)
      await look('error')
      await page.goto(authorizeAddress(at))
      await page.click('form[action="/login/code"] button')
      await look('request of a code')
      await page.fill('#email', 'alice@example.com')
      await page.click('button')
      await look('code')
      await page.fill('#code', '1')
      await page.click('button')
      await look('wrong code')
      await page.goto(authorizeAddress(at))
      await look('login')
      await page.fill('#username', 'alice')
      await page.fill('#password', 'wrong')
      await page.click('button')
      await look('login gone wrong')
      await page.fill('#password', 'correct horse')
      await page.click('button')
      await look('consent')
      await page.goto(`${server.issuer}/account`)
      await look('account')
      await page.goto(`${server.issuer}/account/password`)
      await look('password')
      await page.goto(`${server.issuer}/account/factors/app`)
      await look('set up an app')
      await page.fill('#code', await codeOf(page))
      await page.click('button')
      await look('recovery codes')
      await page.click('button')
      await look('factors')
      await page.goto(`${server.issuer}/account/passkeys`)
      await look('passkeys')
      await page.goto(`${server.issuer}/account/passkeys/new`)
      await look('new passkey')
      await page.goto(`${server.issuer}/account/profile`)
      await look('profile')
      await page.goto(`${server.issuer}/account/delete`)
      await look('deletion')
      await page.goto(`${server.issuer}/account/email`)
      await look('email address')
      await page.fill('#email', 'alice@new.example')
      await page.click('button')
      await look('code for an email address')
      await page.goto(`${server.issuer}/device?user_code=${await userCode(at)}`)
      await look('device')
      await page.click('button')
      await look('device confirmation')
      await page.goto(`${server.issuer}/end_session`)
      await look('logout')
      await page.click('button[value=leave]')
      await look('signed out')
    })
  })
}
