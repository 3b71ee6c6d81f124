import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { faultless } from '../support/accessibility.ts'
import { seededPassword, signInOnPages, watchFaults } from '../support/console.ts'
import { type Program, started } from '../support/program.ts'
import { loaded, until } from './page.ts'
import { screens } from './screens.ts'

describe('the console in a browser', () => {
  let program: Program | undefined
  let browser: Browser | undefined
  let page: Page | undefined
  let faults: string[] = []

  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath === undefined) return
    program = await started()
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    page = await browser.newPage({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' })
    page.setDefaultTimeout(60_000)
    // A refused call is an answer that the pages show; the browser logs it as an error of its own.
    faults = watchFaults(page, (text) => text.startsWith('Failed to load resource'))
  })
  after(async () => {
    await browser?.close()
    await program?.stop()
  })
  const shown = () => page ?? assert.fail('there is no page')
  const heading = (name: string) => shown().getByRole('heading', { level: 1, name, exact: true }).waitFor()

  testWith('chromium', 'from the first start an owner signs in and finds a user', async () => {
    const tab = shown()
    const printed = program?.stdout() ?? ''
    const [, url = ''] = /Console +(\S+)/.exec(printed) ?? []
    await tab.goto(url)
    await signInOnPages(tab, 'alice', seededPassword(printed))
    await heading('Users')
    await tab.getByRole('link', { name: 'alice', exact: true }).click()
    await heading('alice')
    assert.match(tab.url(), /\/console\/users\/alice$/)
  })

  testWith('chromium', 'every screen is without a fault of accessibility, and fits 320 pixels', async () => {
    const tab = shown()
    for (const [path, name] of screens) {
      await tab.setViewportSize({ width: 1280, height: 800 })
      await tab.goto(`${program?.url}/console${path}`)
      await heading(name)
      await loaded(tab)
      await faultless(tab, path)
      await tab.setViewportSize({ width: 320, height: 700 })
      // The layout moves to its new width; one that stays too wide never gets there.
      await until(tab, 'document.documentElement.scrollWidth <= innerWidth')
    }
    await tab.setViewportSize({ width: 1280, height: 800 })
  })

  testWith('chromium', 'a user is locked, and the audit log shows who did it', async () => {
    const tab = shown()
    const token = await administer(program?.stdout() ?? '', program?.url ?? '')
    const body = JSON.stringify({ id: 'bob', email: 'bob@example.com' })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const made = await fetch(`${program?.url}/admin/v1/users`, { method: 'POST', headers, body })
    assert.equal(made.status, 201, await made.text())
    await tab.goto(`${program?.url}/console/users/bob`)
    await tab.getByRole('button', { name: 'Lock' }).click()
    await tab.getByRole('dialog').getByRole('button', { name: 'Lock' }).click()
    await tab.getByText('locked', { exact: true }).waitFor()
    await tab.goto(`${program?.url}/console/audit?subject=bob`)
    const row = tab.getByRole('row').filter({ hasText: 'users.update' }).filter({ hasText: 'alice' })
    await row.waitFor()
    await row.getByText('Show').click()
    await row.getByText('"locked": true').waitFor()
  })

  testWith('chromium', 'with the keyboard alone a section, the search and the help are reached', async () => {
    const tab = shown()
    await tab.goto(`${program?.url}/console/users`)
    await heading('Users')
    await tab.keyboard.press('g')
    await tab.keyboard.press('c')
    await heading('Clients')
    await tab.keyboard.press('/')
    await tab.getByRole('textbox', { name: 'Search' }).waitFor()
    await tab.keyboard.type('alice')
    await tab.getByText('User alice').waitFor()
    await faultless(tab, 'the search')
    await tab.keyboard.press('Enter')
    await heading('alice')
    await tab.getByRole('textbox', { name: 'Search' }).waitFor({ state: 'detached' })
    await tab.keyboard.press('?')
    await tab.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    await faultless(tab, 'the help')
    await tab.keyboard.press('Escape')
  })

  testWith('chromium', 'German and the dark theme are chosen and stay', async () => {
    const tab = shown()
    await tab.goto(`${program?.url}/console/settings`)
    await tab.getByLabel('Appearance').selectOption('dark')
    await tab.getByLabel('Language').selectOption('de')
    await heading('Einstellungen')
    await tab.goto(`${program?.url}/console/audit`)
    await heading('Audit-Protokoll')
    assert.equal(await tab.locator('html').getAttribute('lang'), 'de')
    await loaded(tab)
    await faultless(tab, 'dark')
  })

  testWith('chromium', 'signing out leaves nothing, and no page broke a rule', async () => {
    const tab = shown()
    await tab.getByRole('button', { name: 'Abmelden' }).click()
    await tab.waitForURL(/\/end_session/)
    await tab.goto(`${program?.url}/console/users`)
    await tab.waitForURL((url) => url.pathname !== '/console/users' || url.search !== '')
    assert.deepEqual(faults, [])
  })
})

/** A token of the demo client, which may create users. */
async function administer(printed: string, url: string): Promise<string> {
  const secret = /client +demo +secret (\S+)/.exec(printed)?.[1] ?? assert.fail('no secret was printed')
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'admin:users' })
  const authorization = `Basic ${Buffer.from(`demo:${secret}`).toString('base64')}`
  const answer = await fetch(`${url}/token`, { method: 'POST', body, headers: { authorization } })
  return ((await answer.json()) as { access_token: string }).access_token
}
