import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { addNotifications, type Notifications } from '../support/notifications.ts'
import { Person } from '../support/person.ts'
import { type Platform, passwordOf, startPlatform } from '../support/platform.ts'

const minute = 60_000

describe('what an old sign-in asks for, in a browser', () => {
  let platform: Platform | undefined
  let notifications: Notifications | undefined
  let browser: Browser | undefined
  let page: Page | undefined
  const faults: string[] = []
  const questions: string[] = []
  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath === undefined) return
    platform = await startPlatform(async (http, shared) => {
      notifications = await addNotifications(http, shared)
    })
    await prepare(platform.url)
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    page = await browser.newPage({ locale: 'en-GB', viewport: { width: 1280, height: 1000 } })
    page.setDefaultTimeout(60_000)
    page.on('pageerror', (error) => faults.push(String(error)))
    page.on('dialog', (dialog) => {
      questions.push(dialog.type())
      void dialog.accept()
    })
    await page.goto(`${platform.url}/console/`)
    await signIn()
    await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor()
  })
  after(async () => {
    await browser?.close()
    await notifications?.stop()
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
  /** Opens a screen as somebody who signed in eleven minutes ago. */
  const open = async (path: string, heading: string) => {
    here().clock.advance(11 * minute)
    await tab().goto(`${here().url}/console${path}`)
    await tab().getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
  }
  const button = (name: string) => tab().getByRole('button', { name, exact: true })
  const dialog = () => tab().getByRole('dialog')
  const signInAgain = async () => {
    await button('Sign in again').click()
    await signIn()
  }
  const kept = () =>
    tab().evaluate<string>("JSON.stringify(Object.keys(sessionStorage).filter((k) => k.startsWith('gatehouse-form')))")

  testWith('chromium', 'many events that were typed are there after signing in again, and are sent', async () => {
    const events = JSON.stringify({ event: 'order.shipped', user_id: 'sara', data: { order_id: 'B-1' } })
    await open('/send', 'Send')
    await tab().getByText('Many', { exact: true }).click()
    const field = tab().locator('textarea.code, .code textarea')
    await field.fill(events)
    await button('Send 1').click()
    await dialog().getByRole('button', { name: 'Send 1' }).click()
    await signInAgain()
    assert.equal(await field.inputValue(), events)
    assert.equal(await kept(), '[]', 'nothing is left in the tab')
    await button('Send 1').click()
    await dialog().getByRole('button', { name: 'Send 1' }).click()
    await tab().getByText('accepted', { exact: true }).waitFor()
  })

  testWith('chromium', 'what was to be scheduled is there after signing in again, and is scheduled', async () => {
    await open('/send?event=order.shipped&user=paul', 'Send')
    await tab().getByText('At a time', { exact: true }).click()
    const data = tab().getByRole('textbox', { name: 'Data' })
    await data.fill('{"order_id": "C-1"}')
    await tab().locator('input[type=datetime-local]').fill('2090-01-01T10:00')
    await button('Schedule').click()
    await signInAgain()
    assert.equal(await tab().locator('input[type=datetime-local]').inputValue(), '2090-01-01T10:00')
    assert.equal(await data.inputValue(), '{"order_id": "C-1"}', 'no sample is filled in')
    await button('Schedule').click()
    await tab().getByText('It is scheduled.').waitFor()
  })

  testWith('chromium', 'a draft, its data and its comment come back from a sign-in, and are published', async () => {
    await open('/templates/order.shipped/in-app/en', 'order.shipped')
    await tab().getByRole('textbox', { name: 'Data as JSON' }).fill('{"order_id": "D-1"}')
    await tab().getByRole('textbox', { name: 'Text', exact: true }).click()
    await tab().locator('.cm-content').waitFor()
    await tab().getByRole('textbox', { name: 'Text', exact: true }).fill('Typed for {{ order_id }}')
    await tab().getByLabel('Comment').first().fill('better words')
    await button('Publish').click()
    await signInAgain()
    await tab().getByText('Typed for D-1').first().waitFor()
    assert.equal(await tab().getByLabel('Comment').first().inputValue(), 'better words')
    assert.deepEqual(questions, [], 'the browser does not ask whether the page may be left')
    await button('Publish').click()
    await tab().getByText('The text was published.').waitFor()
  })

  testWith('chromium', 'a draft that somebody else overtook meanwhile is a conflict', async () => {
    await open('/templates/order.shipped/in-app/en', 'order.shipped')
    await tab().getByRole('textbox', { name: 'Text', exact: true }).click()
    await tab().locator('.cm-content').waitFor()
    await tab().getByRole('textbox', { name: 'Text', exact: true }).fill('Mine')
    await button('Publish').click()
    await button('Sign in again').click()
    await new Api(here().url).put('/v1/templates/order.shipped/in-app/en', { body: 'Theirs' })
    await signIn()
    await tab().getByText('Mine').first().waitFor()
    await button('Publish').click()
    await dialog().getByText('Theirs').first().waitFor()
  })

  testWith('chromium', 'the dialog of a test is open again, with the user and the draft', async () => {
    await open('/templates/order.shipped/in-app/en', 'order.shipped')
    await tab().getByRole('textbox', { name: 'Text', exact: true }).click()
    await tab().locator('.cm-content').waitFor()
    await tab().getByRole('textbox', { name: 'Text', exact: true }).fill('A trial')
    await button('Send a test').click()
    await dialog().getByRole('textbox').fill('sara')
    await dialog().getByRole('button', { name: 'Send', exact: true }).click()
    await signInAgain()
    await dialog().waitFor()
    assert.equal(await dialog().getByRole('textbox').inputValue(), 'sara')
    await dialog().getByRole('button', { name: 'Send', exact: true }).click()
    await dialog()
      .getByText(/^accepted by /)
      .waitFor()
    assert.ok((await notifications?.sent())?.includes('A trial'))
  })

  testWith('chromium', 'a suppression is lifted with the reason from before the sign-in', async () => {
    await open('/suppressions', 'Suppressions')
    await button('Lift: paul email').click()
    await dialog().getByLabel('Reason').fill('asked for it by phone')
    await dialog().getByRole('button', { name: 'Lift' }).click()
    await signInAgain()
    await dialog().waitFor()
    assert.equal(await dialog().getByLabel('Reason').inputValue(), 'asked for it by phone')
    await dialog().getByRole('button', { name: 'Lift' }).click()
    await tab().getByText('Nobody is suppressed.').waitFor()
  })

  testWith('chromium', 'a provider is paused, tested and moved after signing in again', async () => {
    await open('/providers', 'Providers')
    await button('Pause: spare-sms').click()
    await tab().getByLabel('For how long').selectOption('8 hours')
    await dialog().getByRole('button', { name: 'Pause' }).click()
    await signInAgain()
    await dialog().waitFor()
    assert.equal(await tab().getByLabel('For how long').inputValue(), '8')
    await dialog().getByRole('button', { name: 'Pause' }).click()
    await button('Resume: spare-sms').waitFor()
    await open('/providers', 'Providers')
    await button('Move up: spare-email').click()
    await dialog().getByText('This requires that you signed in a moment ago.').waitFor()
    await signInAgain()
    await button('Move up: spare-email').click()
    await tab().getByText('The order was changed.').waitFor()
    await open('/providers/spare-email', 'spare-email')
    await tab().getByLabel('Address').fill('ops@example.com')
    await button('Test call').click()
    await signInAgain()
    assert.equal(await tab().getByLabel('Address').inputValue(), 'ops@example.com')
    await button('Test call').click()
    await tab()
      .getByText(/^Accepted in \d+ ms\./)
      .waitFor()
    assert.deepEqual(faults, [])
  })
})

/** Another administrator, at the API of the console. */
class Api {
  readonly #person: Person

  constructor(url: string) {
    this.#person = new Person(url)
  }

  async put(path: string, body: object, method = 'PUT'): Promise<void> {
    if (this.#person.cookies.size === 0) {
      const answer = await this.#person.signIn('otto', passwordOf('otto'))
      assert.equal(answer.status, 200)
    }
    const headers = { 'content-type': 'application/json' }
    const answer = await this.#person.api(path, { method, body: JSON.stringify(body), headers })
    assert.ok(answer.ok, await answer.text())
  }
}

/** An event type with a text, and a complaint. */
async function prepare(url: string): Promise<void> {
  const api = new Api(url)
  await api.put('/v1/templates/order.shipped/in-app/en', { subject: 'Shipped', body: 'Order {{ order_id }}' })
  await api.put('/v1/event-types/order.shipped', { channels: ['in-app'] })
  await api.put('/v1/suppressions', { user_id: 'paul', channel: 'email', reason: 'complained' }, 'POST')
}
