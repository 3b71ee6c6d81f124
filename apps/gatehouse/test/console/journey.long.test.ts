import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { consoleOfSuite } from '../support/console.ts'
import { callAsDemo } from '../support/demo-client.ts'
import { started } from '../support/program.ts'
import { loaded } from './page.ts'
import { screens } from './screens.ts'

describe('the console in a browser', () => {
  const { tab, program, faults, signIn, heading, open, faultless, fitsPhone } = consoleOfSuite({
    start: () => started(),
  })

  testWith('chromium', 'from the first start an owner signs in and finds a user', async () => {
    const printed = program().stdout()
    const [, url = ''] = /Console +(\S+)/.exec(printed) ?? []
    await tab().goto(url)
    await signIn()
    await heading('Overview')
    await tab().getByRole('link', { name: 'Users', exact: true }).click()
    await heading('Users')
    await tab().getByRole('link', { name: 'alice', exact: true }).click()
    await heading('alice')
    assert.match(tab().url(), /\/console\/users\/alice$/)
  })

  testWith('chromium', 'every screen is without a fault of accessibility, and fits 320 pixels', async () => {
    for (const [path, name] of screens) {
      await open(path, name)
      await faultless(path)
      await fitsPhone()
    }
  })

  testWith('chromium', 'a user is locked, and the audit log shows who did it', async () => {
    const bob = { id: 'bob', email: 'bob@example.com' }
    await callAsDemo(program(), 'admin:users', { method: 'POST', path: '/admin/v1/users', body: bob })
    await tab().goto(`${program().url}/console/users/bob`)
    await tab().getByRole('button', { name: 'Lock' }).click()
    await tab().getByRole('dialog').getByRole('button', { name: 'Lock' }).click()
    await tab().getByText('locked', { exact: true }).waitFor()
    await tab().goto(`${program().url}/console/audit?subject=bob`)
    const row = tab().getByRole('row').filter({ hasText: 'users.update' }).filter({ hasText: 'alice' })
    await row.waitFor()
    await row.getByText('Show').click()
    await row.getByText('"locked": true').waitFor()
  })

  testWith('chromium', 'with the keyboard alone a section, the search and the help are reached', async () => {
    await tab().goto(`${program().url}/console/users`)
    await heading('Users')
    await tab().keyboard.press('g')
    await tab().keyboard.press('c')
    await heading('Clients')
    await tab().keyboard.press('/')
    await tab().getByRole('textbox', { name: 'Search' }).waitFor()
    await tab().keyboard.type('alice')
    await tab().getByText('User alice').waitFor()
    await faultless('the search')
    await tab().keyboard.press('Enter')
    await heading('alice')
    await tab().getByRole('textbox', { name: 'Search' }).waitFor({ state: 'detached' })
    await tab().keyboard.press('?')
    await tab().getByRole('dialog', { name: 'Keyboard' }).waitFor()
    await faultless('the help')
    await tab().keyboard.press('Escape')
  })

  testWith('chromium', 'German and the dark theme are chosen and stay', async () => {
    await tab().goto(`${program().url}/console/settings`)
    await tab().getByLabel('Appearance').selectOption('dark')
    await tab().getByLabel('Language').selectOption('de')
    await heading('Einstellungen')
    await tab().goto(`${program().url}/console/audit`)
    await heading('Audit-Protokoll')
    assert.equal(await tab().locator('html').getAttribute('lang'), 'de')
    await loaded(tab())
    await faultless('dark')
  })

  testWith('chromium', 'signing out leaves nothing, and no page broke a rule', async () => {
    await tab().getByRole('button', { name: 'Abmelden' }).click()
    await tab().waitForURL(/\/end_session/)
    await tab().goto(`${program().url}/console/users`)
    await tab().waitForURL((url) => url.pathname !== '/console/users' || url.search !== '')
    assert.deepEqual(faults(), [])
  })
})
