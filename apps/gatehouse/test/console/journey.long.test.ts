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

  testWith('chromium', 'every list with filters has saved views, which keep nothing personal', async () => {
    for (const [path, name] of lists) {
      await open(path, name)
      await tab().getByRole('button', { name: 'Saved views' }).waitFor()
    }
    await open('/audit?type=users.update&address=127.0.0.1', 'Audit log')
    await tab().getByRole('button', { name: 'Saved views' }).click()
    await tab().getByText('Addresses, names and keys of persons are not saved with a view.').waitFor()
    await faultless('a view without what is personal')
    await tab().getByRole('textbox', { name: 'Name' }).fill('changes of users')
    await tab().getByRole('button', { name: 'Save this view' }).click()
    await tab().getByRole('button', { name: 'changes of users', exact: true }).click()
    await tab().waitForURL(({ search }) => search === '?type=users.update')
    await tab().getByLabel('From', { exact: true }).fill('2026-01-31T08:30')
    await tab().getByRole('button', { name: 'Search', exact: true }).last().click()
    await tab().waitForURL(({ searchParams }) => /^2026-01-3\dT\d\d:30:00.000Z$/.test(searchParams.get('since') ?? ''))
    assert.match(await tab().getByLabel('From', { exact: true }).inputValue(), /^2026-01-31T08:30/)
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
    await tab().getByText('Audit events about alice', { exact: true }).waitFor()
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

  testWith('chromium', 'Enter opens the first line of the search, also where that arrived late', async () => {
    const typed = Promise.withResolvers<void>()
    const isSearch = (url: URL) => /v1\/(?:users|recipients)\b/.test(url.pathname)
    await open('/clients', 'Clients')
    await tab().route(isSearch, async (route) => {
      await typed.promise
      await route.continue()
    })
    await tab().keyboard.press('/')
    const search = tab().getByRole('textbox', { name: 'Search' })
    await search.fill('alic')
    await tab().getByText('Audit events about alic', { exact: true }).waitFor()
    await search.press('e')
    await tab().getByText('Audit events about alice', { exact: true }).waitFor()
    typed.resolve()
    await tab().getByText('User alice').waitFor()
    await search.press('Enter')
    await heading('alice')
    await tab().unroute(isSearch)
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

const lists = [
  ['/notifications', 'Notifications'],
  ['/dead-letters', 'Dead letters'],
  ['/scheduled', 'Scheduled'],
  ['/suppressions', 'Suppressions'],
  ['/templates', 'Templates'],
  ['/users', 'Users'],
  ['/sessions', 'Sessions'],
  ['/clients', 'Clients'],
  ['/api-keys', 'API keys'],
  ['/limits/callers', 'Callers'],
  ['/audit', 'Audit log'],
] as const
