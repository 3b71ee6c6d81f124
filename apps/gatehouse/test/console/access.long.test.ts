import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { runSnippet } from '../snippets/run.ts'
import { seededPassword, signInOnPages, watchFaults } from '../support/console.ts'
import { type Program, started } from '../support/program.ts'

describe('a client from its registration to its end, in a browser', () => {
  let program: Program | undefined
  let browser: Browser | undefined
  let page: Page | undefined
  let faults: string[] = []
  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath === undefined) return
    program = await started()
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' })
    page.setDefaultTimeout(30_000)
    faults = watchFaults(page, (text) => text.startsWith('Failed to load resource'))
    await page.goto(`${program.url}/console/clients`)
    await signInOnPages(page, 'alice', seededPassword(program.stdout()))
    await page.getByRole('heading', { level: 1, name: 'Clients', exact: true }).waitFor()
  })
  after(async () => {
    await browser?.close()
    await program?.stop()
  })
  const tab = () => page ?? assert.fail('there is no page')
  const heading = (name: string) => tab().getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const secretShown = async () => ((await tab().locator('code.secret').textContent()) ?? '').trim()

  /** Whether the client gets a token with each secret. */
  const accepts = async (id: string, ...secrets: string[]) => {
    const requests = secrets.map((secret) => {
      const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
      const body = new URLSearchParams({ grant_type: 'client_credentials' })
      return fetch(`${program?.url}/token`, { method: 'POST', body, headers: { authorization } })
    })
    return (await Promise.all(requests)).map(({ status }) => status === 200)
  }

  /** What the snippet that is shown prints, with the secret in its environment. */
  const useSnippet = async (secret: string) => {
    const text = (await tab().getByRole('region', { name: 'curl' }).textContent()) ?? ''
    const printed = await runSnippet('curl', text, { GATEHOUSE_CLIENT_SECRET: secret })
    return JSON.parse(printed) as { readonly scope: string; readonly access_token: string }
  }

  testWith('chromium', 'by mouse it is registered, used, given two secrets and then one, and deleted', async () => {
    await tab().getByRole('link', { name: 'Register a client' }).click()
    await heading('Register a client')
    await tab().getByText('Service', { exact: true }).click()
    await tab().getByRole('button', { name: 'Next' }).click()
    await tab().getByRole('textbox', { name: 'Name' }).fill('Order export')
    await tab().getByRole('combobox', { name: 'Scopes' }).fill('orders:read ')
    await tab().getByRole('button', { name: 'Register a client' }).click()
    await heading('Order export is registered')
    const first = await secretShown()
    assert.equal((await useSnippet(first)).scope, 'orders:read')

    await tab().getByRole('button', { name: 'Open the client' }).click()
    await heading('Order export')
    const renew = async (overlap: string) => {
      await tab().getByRole('button', { name: 'New secret: order-export' }).click()
      const dialog = tab().getByRole('dialog', { name: 'New secret' })
      await dialog.getByLabel('The old one stays valid for').selectOption(overlap)
      await dialog.getByRole('textbox').fill('order-export')
      await dialog.getByRole('button', { name: 'New secret' }).click()
      await dialog.waitFor({ state: 'detached' })
      return secretShown()
    }
    const second = await renew('a day')
    await tab().getByText('two secrets are valid').waitFor()
    assert.deepEqual(await accepts('order-export', first, second), [true, true])
    const third = await renew('no time: it ends at once')
    assert.deepEqual(await accepts('order-export', first, second, third), [false, false, true])

    await tab().getByRole('button', { name: 'Delete' }).click()
    await tab().getByRole('dialog').getByRole('textbox').fill('order-export')
    await tab().getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await heading('Clients')
    assert.deepEqual(await accepts('order-export', third), [false])
  })

  testWith('chromium', 'by keyboard alone the same is done', async () => {
    const keys = tab().keyboard
    /** Moves on until what has the focus has this name. */
    const reach = async (name: string) => {
      const focused =
        "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.labels?.[0]?.innerText ?? document.activeElement?.innerText ?? ''"
      for (let count = 0; count < 80; count++) {
        const now = await tab().evaluate<string>(focused)
        if (now.replace(/\s*\*$/, '').trim() === name) return
        await keys.press('Tab')
      }
      assert.fail(`the focus never came to ${name}`)
    }
    await tab().goto(`${program?.url}/console/users`)
    await heading('Users')
    await keys.press('g')
    await keys.press('c')
    await heading('Clients')
    await reach('Register a client')
    await keys.press('Enter')
    await heading('Register a client')
    await reach('Web application')
    for (let count = 0; count < 3; count++) await keys.press('ArrowDown')
    await reach('Next')
    await keys.press('Enter')
    await tab().getByRole('textbox', { name: 'Name' }).waitFor()
    await reach('Name')
    await keys.type('Key export')
    await reach('Scopes')
    await keys.type('orders:read')
    await keys.press('Enter')
    await reach('Register a client')
    await keys.press('Enter')
    await heading('Key export is registered')
    const first = await secretShown()
    assert.equal((await useSnippet(first)).scope, 'orders:read')
    await reach('Open the client')
    await keys.press('Enter')
    await heading('Key export')

    await reach('New secret: key-export')
    await keys.press('Enter')
    await tab().getByRole('dialog', { name: 'New secret' }).waitFor()
    await reach('Type key-export to confirm.')
    await keys.type('key-export')
    await keys.press('Enter')
    await tab().getByText('The new secret, shown only now').waitFor()
    const second = await secretShown()
    assert.deepEqual(await accepts('key-export', first, second), [true, true])

    await tab().getByRole('dialog', { name: 'New secret' }).waitFor({ state: 'detached' })
    await reach('Delete')
    await keys.press('Enter')
    await tab().getByRole('dialog').waitFor()
    await reach('Type key-export to confirm.')
    await keys.type('key-export')
    await keys.press('Enter')
    await heading('Clients')
    assert.deepEqual(await accepts('key-export', second), [false])
    assert.deepEqual(faults, [])
  })
})
