import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { chromium } from 'playwright-core'
import { pngOf } from '../support/images.ts'
import { authorizeUrl, clients, pkce, TestBrowser, users } from '../support/journey.ts'
import { startIdentity } from '../support/live.ts'
import { setupOnce } from '../support/setup.ts'

const about = {
  publisher: 'Photo & <Print> Ltd',
  client_uri: 'https://photo-print.example/about?a=1&b=2',
  policy_uri: 'https://photo-print.example/privacy',
  tos_uri: 'https://photo-print.example/terms',
}
const [web, ...others] = clients
const plain = { ...others[0], client_id: 'spa' }
const running = setupOnce({ declared: { clients: [{ ...web, client_id: 'web', ...about }, plain], users } })

const request = (client_id: string, more: Record<string, string> = {}) => ({
  client_id,
  response_type: 'code',
  scope: 'openid',
  code_challenge: pkce().code_challenge,
  code_challenge_method: 'S256',
  ...more,
})

async function consentPage(client: string, headers: Record<string, string> = {}): Promise<string> {
  const browser = new TestBrowser(running, headers)
  const page = await browser.signIn(await browser.get(authorizeUrl(request(client))))
  assert.match(page.text, /action="\/consent"/)
  return page.text
}

test('the consent page names the publisher, the hosts and the pages of the client', async () => {
  const page = await consentPage('web')
  assert.match(page, /Verified publisher: Photo &amp; &lt;Print&gt; Ltd/)
  assert.match(
    page,
    /<a href="https:\/\/photo-print\.example\/about\?a=1&amp;b=2" rel="noreferrer">photo-print\.example</,
  )
  assert.match(page, /<a href="https:\/\/photo-print\.example\/privacy" rel="noreferrer">Privacy policy</)
  assert.match(page, /<a href="https:\/\/photo-print\.example\/terms" rel="noreferrer">Terms of service</)
  assert.match(page, /You will be redirected to app\.example\./)
  assert.match(await consentPage('web', { 'accept-language': 'de' }), /Geprüfter Herausgeber: Photo/)
})

test('without them it names the redirect host alone, and no publisher', async () => {
  const page = await consentPage('spa')
  assert.match(page, /You will be redirected to spa\.example\./)
  assert.doesNotMatch(page, /publisher|class="logo"|rel="noreferrer"/)
})

testWith('chromium', 'the logo is shown under the policy of the page, and fits on a phone', async () => {
  const images = createServer((_request, response) => response.end(pngOf(96, 48)))
  await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve))
  const logo_uri = `http://127.0.0.1:${(images.address() as AddressInfo).port}/logo`
  const declared = { users, clients: [{ ...web, client_id: 'web', ...about, logo_uri }] }
  const server = await startIdentity(declared, { loopbackCalls: true })
  const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
  try {
    const page = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(server.issuer + authorizeUrl(request('web')))
    await page.fill('#username', 'alice')
    await page.fill('#password', 'correct horse')
    await page.click('button')
    for (let attempts = 0; attempts < 200 && (await page.locator('img.logo').count()) === 0; attempts++)
      await page.goto(server.issuer + authorizeUrl(request('web')))
    const natural = await page
      .locator('img.logo')
      .evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)
    assert.equal(natural, 96)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
    assert.deepEqual(complaints, [])
  } finally {
    await browser.close()
    await server.close()
    images.close()
  }
})
