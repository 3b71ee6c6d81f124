import assert from 'node:assert/strict'
import { findProgram, testWith } from '@gatehouse/testing'
import { chromium } from 'playwright-core'
import { pkce } from '../support/journey.ts'
import { startIdentity } from '../support/live.ts'
import { declared, password } from '../support/management/organizations.ts'

const longName = 'Donaudampfschifffahrtsgesellschaftskapitänsverband und Partner GmbH'
const organizations = [
  ...declared.organizations,
  { id: 'long', name: longName, members: [{ user_id: 'ann', roles: ['viewer'] }] },
]

/** Controls without an accessible name, or which a keyboard does not reach. */
const unreachable = `(() => [...document.querySelectorAll('a, button')].filter((element) => {
  element.focus()
  const { outlineStyle } = getComputedStyle(element)
  return document.activeElement !== element || outlineStyle === 'none' || element.textContent.trim() === ''
}).map((element) => element.outerHTML))()`

testWith('chromium', 'people choose and leave organizations without scripts, on a narrow screen', async () => {
  const server = await startIdentity({ ...declared, organizations })
  const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
  try {
    const options = { javaScriptEnabled: false, viewport: { width: 320, height: 640 } }
    const page = await (await browser.newContext(options)).newPage()
    const look = async (heading: string) => {
      assert.equal(await page.textContent('h1'), heading)
      await page.keyboard.press('Tab')
      assert.deepEqual(await page.evaluate(unreachable), [], heading)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320, `${heading}: no scrolling`)
    }
    const { code_challenge } = pkce()
    const request = { client_id: 'portal', response_type: 'code', scope: 'openid', prompt: 'consent', code_challenge }
    await page.goto(`${server.issuer}/authorize?${new URLSearchParams(request)}`)
    await page.fill('#username', 'ann')
    await page.fill('#password', password)
    await page.keyboard.press('Enter')
    await page.waitForSelector('ul.choices')
    await look('Choose an organization')
    await page.click(`text=${longName}`)
    await page.waitForSelector('button[value=allow]')
    assert.match((await page.textContent('main')) ?? '', new RegExp(`For the organization ${longName}`))
    await page.goto(`${server.issuer}/account/organizations`)
    await look('Your organizations')
    await page.click('button[aria-label="Leave Beta Inc"]')
    await page.waitForSelector('text=Acme Ltd')
    assert.equal(await page.locator('text=Beta Inc').count(), 0)
  } finally {
    await browser.close()
    await server.close()
  }
})
