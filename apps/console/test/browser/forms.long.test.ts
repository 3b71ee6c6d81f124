import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { type Platform, passwordOf, startPlatform } from '../support/platform.ts'

describe('forms in a browser', () => {
  let platform: Platform | undefined
  let browser: Browser | undefined
  let page: Page | undefined
  const faults: string[] = []
  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath === undefined) return
    platform = await startPlatform()
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    page = await browser.newPage({ locale: 'en-GB' })
    page.setDefaultTimeout(60_000)
    page.on('pageerror', (error) => faults.push(String(error)))
  })
  after(async () => {
    await browser?.close()
    await platform?.stop()
  })
  const tab = () => page ?? assert.fail('there is no page')
  const here = () => platform ?? assert.fail('there is no platform')
  const signIn = async () => {
    await tab().locator('input[name=password]').fill(passwordOf('olga'))
    const name = tab().locator('input[name=username]')
    if (await name.isEditable().catch(() => false)) await name.fill('olga')
    await tab().locator('button[type=submit]').first().click()
  }
  const kept = () =>
    tab().evaluate<string>("JSON.stringify(Object.keys(sessionStorage).filter((k) => k.startsWith('gatehouse-form')))")
  const heading = (name: string) => tab().getByRole('heading', { level: 1, name, exact: true }).waitFor()

  testWith('chromium', 'what was typed into the form of a client is there after signing in again', async () => {
    await tab().goto(`${here().url}/console/new-client?kind=service`)
    await signIn()
    await heading('Register a client')
    here().clock.advance(11 * 60_000)
    await tab().getByRole('textbox', { name: 'Name' }).fill('Nightly job')
    await tab().getByRole('combobox', { name: 'Scopes' }).fill('orders:read')
    await tab().keyboard.press('Enter')
    await tab().getByRole('button', { name: 'Register a client' }).click()
    await tab().getByRole('button', { name: 'Sign in again' }).click()
    await signIn()
    await heading('Register a client')
    assert.equal(await tab().getByRole('textbox', { name: 'Name' }).inputValue(), 'Nightly job')
    await tab().getByText('orders:read', { exact: true }).first().waitFor()
    assert.equal(await kept(), '[]', 'nothing is left in the tab')
    await tab().getByRole('button', { name: 'Register a client' }).click()
    await heading('Nightly job is registered')
    const { rows } = await here().database.query("SELECT 1 FROM identity.client WHERE id = 'nightly-job'")
    assert.equal(rows.length, 1)
  })

  testWith('chromium', 'a dialog is open again after signing in again, with what was chosen', async () => {
    await tab().goto(`${here().url}/console/clients/nightly-job`)
    await heading('Nightly job')
    here().clock.advance(11 * 60_000)
    await tab().getByRole('button', { name: 'New secret' }).click()
    const dialog = tab().getByRole('dialog', { name: 'New secret' })
    await dialog.getByLabel('The old one stays valid for').selectOption('an hour')
    await dialog.getByRole('textbox').fill('nightly-job')
    await dialog.getByRole('button', { name: 'New secret' }).click()
    await dialog.getByRole('button', { name: 'Sign in again' }).click()
    await signIn()
    await dialog.waitFor()
    assert.equal(await dialog.getByLabel('The old one stays valid for').inputValue(), '3600')
    await dialog.getByRole('button', { name: 'New secret' }).click()
    await tab().getByText('The new secret, shown only now').waitFor()
    assert.doesNotMatch(await tab().evaluate<string>('JSON.stringify({ ...sessionStorage })'), /secret.*[\w-]{43}/)
  })

  testWith('chromium', 'a fault of the API is shown at its field', async () => {
    await tab().goto(`${here().url}/console/new-client?kind=web`)
    await tab().getByRole('textbox', { name: 'Name' }).fill('Shop')
    await tab().getByRole('textbox', { name: 'Redirect URIs' }).fill('https://shop.example/back\njavascript:alert(1)')
    await tab().getByRole('button', { name: 'Register a client' }).click()
    await tab()
      .getByText(/^2: must/)
      .waitFor()
    assert.equal(await tab().getByRole('textbox', { name: 'Redirect URIs' }).getAttribute('aria-invalid'), 'true')
  })

  testWith('chromium', 'of two who edit a client the second sees the difference and decides', async () => {
    const { management } = here().identity
    const edit = async (name: string) => {
      await tab().goto(`${here().url}/console/clients/nightly-job/edit`)
      await heading('Edit Nightly job')
      await tab().getByRole('textbox', { name: 'Name' }).fill(name)
      here().clock.advance(1_000)
      await management.updateClient('nightly-job', { plan: 'pro' })
      await tab().getByRole('button', { name: 'Save' }).click()
      await tab().getByText('Somebody else changed this meanwhile').waitFor()
    }
    await edit('Morning job')
    const row = tab().getByRole('row').filter({ hasText: 'Plan' })
    await row.getByText('pro').waitFor()
    await tab().getByRole('button', { name: 'Save mine' }).click()
    await heading('Morning job')
    const [client] = (await management.listClients('', 100)).filter((one) => one.client_id === 'nightly-job')
    assert.equal(client?.client_name, 'Morning job')
    assert.deepEqual(faults, [])
  })
})
