import assert from 'node:assert/strict'
import { after, before, beforeEach, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, type BrowserContext, chromium, type Page, type Request } from 'playwright-core'
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
    await tab.getByText('The server of the console cannot be reached.').waitFor()
    await tab.getByRole('link', { name: 'Notifications', exact: true }).first().waitFor()
    assert.equal(await tab.evaluate('globalThis.isSameDocument'), true)
    await follow('Notifications')
    await heading('Notifications')
    await tab.getByText('what is shown may be old').first().waitFor()
    await tab.getByRole('link', { name: 'order.shipped' }).first().waitFor()
    await follow('Suppressions')
    await tab.getByText('The server of the console cannot be reached.').waitFor()
    program = await started({ dataDir, port: Number(new URL(url).port) })
    await tab.getByText('Nobody is suppressed.').waitFor()
  })
})
