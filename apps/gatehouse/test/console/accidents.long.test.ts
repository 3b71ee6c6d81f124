import assert from 'node:assert/strict'
import { after, before, beforeEach, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Locator,
  type Page,
  type Request,
  type Route,
} from 'playwright-core'
import { seededPassword, signInOnPages, watchFaults } from '../support/console.ts'
import { type Program, started } from '../support/program.ts'
import { loaded } from './page.ts'

describe('the console when something goes wrong around it', () => {
  let program: Program
  let browser: Browser
  let context: BrowserContext
  let tab: Page
  const faults: string[] = []

  before(async () => {
    const executablePath = findProgram('chromium')
    if (executablePath === undefined) return
    program = await started()
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' })
    const page = await context.newPage()
    await page.goto(`${program.url}/console/`)
    await signInOnPages(page, 'alice', seededPassword(program.stdout()))
    await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor()
    await page.close()
  })
  beforeEach(async () => {
    if (context === undefined) return
    tab = await context.newPage()
    tab.setDefaultTimeout(60_000)
    const own = watchFaults(tab, (text) => /^Failed to load resource|ScreenNotLoadedError/.test(text))
    tab.on('close', () => faults.push(...own))
  })
  after(async () => {
    await browser?.close()
    await program?.stop()
    assert.deepEqual(faults, [])
  })

  const heading = (name: string) => tab.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const open = async (path: string, name: string) => {
    await tab.goto(`${program.url}/console${path}`)
    await heading(name)
    await loaded(tab)
  }
  const follow = (name: string) => tab.getByRole('link', { name, exact: true }).first().click()
  const write = async (user: string) => {
    await open('/send', 'Send')
    await tab.getByLabel('Event type').fill('order.shipped')
    await tab.getByLabel('User id').fill(user)
    await tab.getByText('would be sent').first().waitFor()
  }
  const isSend = (request: Request) => request.method() === 'POST' && request.url().endsWith('/v1/notify')

  testWith('chromium', 'a double click on Send sends once', async () => {
    let sent = 0
    tab.on('request', (request) => {
      if (isSend(request)) sent++
    })
    await write('alice')
    await tab.getByRole('button', { name: 'Send', exact: true }).dblclick()
    await heading('order.shipped')
    await open('/notifications?user=alice&event=order.shipped', 'Notifications')
    await tab.getByRole('link', { name: 'order.shipped' }).first().waitFor()
    assert.equal(await tab.getByRole('link', { name: 'order.shipped' }).count(), 1)
    assert.equal(sent, 1)
  })

  testWith(
    'chromium',
    'without a network a call fails at once, keeps what was typed, and is not made later',
    async () => {
      await write('bob')
      let sent = 0
      tab.on('requestfinished', (request) => {
        if (isSend(request)) sent++
      })
      await context.setOffline(true)
      await tab.getByRole('button', { name: 'Send', exact: true }).click()
      await tab.getByRole('alert').first().waitFor()
      await context.setOffline(false)
      await tab.getByRole('button', { name: 'Send', exact: true }).click()
      await heading('order.shipped')
      assert.equal(sent, 1)
    },
  )

  testWith('chromium', 'while the server is away the console stays, says so, and goes on by itself', async () => {
    await open('/notifications', 'Notifications')
    await tab.getByText('Live', { exact: true }).waitFor()
    await tab.evaluate('globalThis.isSameDocument = true')
    const { dataDir, url } = program
    await program.stop('SIGKILL')
    await tab.getByText('Live', { exact: true }).waitFor({ state: 'detached' })
    await follow('Suppressions')
    await tab.getByText('The server of the console cannot be reached.').first().waitFor()
    await tab.getByRole('link', { name: 'Notifications', exact: true }).first().waitFor()
    assert.equal(await tab.evaluate('globalThis.isSameDocument'), true)
    await follow('Notifications')
    await heading('Notifications')
    await tab.getByText('what is shown may be old').first().waitFor()
    await tab.getByRole('link', { name: 'order.shipped' }).first().waitFor()
    await follow('Suppressions')
    await tab.getByText('The server of the console cannot be reached.').first().waitFor()
    program = await started({ dataDir, port: Number(new URL(url).port) })
    await tab.getByText('Nobody is suppressed.').waitFor()
  })

  /**
   * Ends the session of the console, presses a button, and comes back from the sign-in, which identity still knows. What
   * the page asks by itself waits until then: else it may go to the sign-in before the button is pressed.
   */
  const pressAfterItsEnd = async (button: Locator) => {
    const calls = /\/console\/api\//
    const waiting: Route[] = []
    await tab.route(calls, (route) => void waiting.push(route))
    await context.clearCookies({ name: /gatehouse-console/ })
    const isBack = tab.waitForEvent('load')
    await button.click()
    await tab.unroute(calls)
    // A call of a page that was left meanwhile has ended.
    await Promise.allSettled(waiting.map((route) => route.continue()))
    await isBack
  }
  const button = (name: string) => tab.getByRole('button', { name, exact: true }).last()

  testWith('chromium', 'what was typed is there again when the session ended meanwhile', async () => {
    await write('carol')
    await tab.getByLabel('Data (JSON)').fill('{"item": "typed for an hour"}')
    await pressAfterItsEnd(button('Send'))
    await heading('Send')
    assert.equal(await tab.getByLabel('User id').inputValue(), 'carol')
    await tab.getByText('typed for an hour').first().waitFor()
    assert.equal(await tab.getByLabel('Data (JSON)').inputValue(), '{"item": "typed for an hour"}')

    await open('/new-client?kind=web', 'Register a client')
    await tab.getByRole('textbox', { name: 'Name' }).fill('Shop')
    await tab.getByRole('textbox', { name: 'Redirect URIs' }).fill('https://shop.example/back')
    await pressAfterItsEnd(button('Register a client'))
    await heading('Register a client')
    assert.equal(await tab.getByRole('textbox', { name: 'Name' }).inputValue(), 'Shop')

    await open('/users', 'Users')
    await tab.getByRole('button', { name: 'New user' }).click()
    await tab.getByRole('dialog').getByLabel('Id').fill('zoe')
    await pressAfterItsEnd(tab.getByRole('dialog').getByRole('button', { name: 'New user' }))
    await tab.getByRole('dialog').waitFor()
    assert.equal(await tab.getByRole('dialog').getByLabel('Id').inputValue(), 'zoe')

    await open('/event-types/order.shipped', 'order.shipped')
    await tab.getByLabel('Title').fill('Parcels')
    await pressAfterItsEnd(button('Save'))
    await heading('order.shipped')
    assert.equal(await tab.getByLabel('Title').inputValue(), 'Parcels')
  })

  testWith('chromium', 'a form with something typed asks before it is left, and not once it is stored', async () => {
    await open('/new-client?kind=service', 'Register a client')
    const name = tab.getByRole('textbox', { name: 'Name' })
    await name.fill('Nightly job')
    const question = tab.getByRole('dialog', { name: 'Leave without saving?' })
    await follow('Providers')
    await question.getByRole('button', { name: 'Stay' }).click()
    await question.waitFor({ state: 'detached' })
    assert.equal(await name.inputValue(), 'Nightly job')
    await button('Register a client').click()
    await heading('Nightly job is registered')
    await follow('Providers')
    await heading('Providers')

    await open('/clients/nightly-job', 'Nightly job')
    await tab.getByRole('link', { name: 'Edit', exact: true }).or(button('Edit')).first().click()
    await heading('Edit Nightly job')
    await name.fill('Morning job')
    await tab.goBack()
    await question.getByRole('button', { name: 'Stay' }).click()
    await button('Save').click()
    await heading('Morning job')

    await open('/event-types/order.shipped', 'order.shipped')
    await tab.getByLabel('Title').fill('Parcels')
    await follow('Providers')
    await question.getByRole('button', { name: 'Leave' }).click()
    await heading('Providers')
  })

  testWith('chromium', 'a text that was being written is too, and what somebody else stored is not lost', async () => {
    await open('/templates/order.shipped/sms/en', 'order.shipped')
    await tab.getByRole('switch', { name: 'Code editor' }).click()
    const text = tab.getByRole('textbox', { name: 'Text', exact: true })
    await text.fill('Mine {{ order_id }}')
    await pressAfterItsEnd(button('Save draft'))
    await heading('order.shipped')
    await tab.getByText('not saved').waitFor()
    assert.equal(await text.inputValue(), 'Mine {{ order_id }}')

    const stored = await tab.evaluate(async () => {
      const headers = { 'x-console': '1', 'content-type': 'application/json' }
      const path = '/console/api/v1/templates/order.shipped/sms/en'
      return (await fetch(path, { method: 'PUT', headers, body: '{"body":"Theirs {{ order_id }}"}' })).status
    })
    assert.equal(stored, 200)
    await pressAfterItsEnd(button('Save draft'))
    await tab.getByText('not saved').waitFor()
    await button('Save draft').click()
    await tab.getByRole('dialog').getByText('Theirs').first().waitFor()
  })

  testWith('chromium', 'a sign-out that does not get through is said', async () => {
    await open('/providers', 'Providers')
    await tab.route('**/console/api/sign-out', (route) => route.abort())
    await button('Sign out').click()
    await tab.getByText('The sign-out failed. The server of the console cannot be reached.').waitFor()
    await heading('Providers')
  })

  testWith('chromium', 'a sign-out is one of every tab: they show nothing more, and sign nobody in', async () => {
    await open('/new-client?kind=service', 'Register a client')
    await tab.getByRole('textbox', { name: 'Name' }).fill('Typed before the sign-out')
    const [typing, polling, own] = [tab, await context.newPage(), await context.newPage()]
    const signIns: string[] = []
    for (const page of [typing, polling])
      page.on('request', (request) => {
        if (/\/(login|authorize)\b/.test(request.url())) signIns.push(request.url())
      })
    await polling.goto(`${program.url}/console/providers`)
    await polling.getByRole('heading', { level: 1, name: 'Providers', exact: true }).waitFor()
    await own.goto(`${program.url}/console/users`)
    await own.getByRole('button', { name: 'Sign out', exact: true }).click()
    await own.waitForURL('**/end_session**')
    for (const page of [typing, polling]) {
      await page.getByRole('heading', { level: 1, name: 'You are signed out' }).waitFor()
      assert.equal(
        await page.evaluate('Object.keys(sessionStorage).some((key) => key.startsWith("gatehouse-form"))'),
        false,
      )
    }
    assert.deepEqual(signIns, [])
    assert.equal(
      (await context.cookies()).some(({ name }) => name === 'gatehouse-console'),
      false,
    )
  })
})
