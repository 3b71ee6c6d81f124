import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { faultless } from '../support/accessibility.ts'
import { seededPassword, signInOnPages, watchFaults } from '../support/console.ts'
import { type Program, started } from '../support/program.ts'
import { loaded, until } from './page.ts'

describe('figures, first steps and the system, from the first start', () => {
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
    page.setDefaultTimeout(60_000)
    faults = watchFaults(page, (text) => text.startsWith('Failed to load resource'))
  })
  after(async () => {
    await browser?.close()
    await program?.stop()
  })
  const shown = () => page ?? assert.fail('there is no page')
  const heading = (name: string) => shown().getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const open = async (path: string, name: string) => {
    await shown().goto(`${program?.url}/console${path}`)
    await heading(name)
    await loaded(shown())
  }

  testWith('chromium', 'the console opens with the overview, and the first steps are still to do', async () => {
    const tab = shown()
    const printed = program?.stdout() ?? ''
    await tab.goto(`${program?.url}/console/`)
    await signInOnPages(tab, 'alice', seededPassword(printed))
    await heading('Overview')
    await tab.getByRole('region', { name: 'Needs attention' }).getByText('Nothing needs attention').waitFor()
    await tab.getByRole('link', { name: 'Get started', exact: true }).click()
    await heading('Get started')
    const first = tab.getByRole('listitem').filter({ hasText: 'Send a first notification' })
    await first.getByText('open', { exact: true }).waitFor()
    await faultless(tab, 'the first steps')
  })

  testWith('chromium', 'a notification is in the figures at once, and the first step is done', async () => {
    const tab = shown()
    await notify(program ?? assert.fail('no program'))
    await open('/start', 'Get started')
    const first = tab.getByRole('listitem').filter({ hasText: 'Send a first notification' })
    await first.getByText('done', { exact: true }).waitFor()
    await open('/', 'Overview')
    const accepted = tab.getByRole('region', { name: 'Accepted' })
    await accepted.getByRole('link', { name: 'email', exact: true }).waitFor()
    await until(tab, "document.querySelector('.plot canvas') !== null")
    await faultless(tab, 'the overview with charts')
  })

  testWith('chromium', 'behind a chart is a table, and the range of time is in the address', async () => {
    const tab = shown()
    await tab.getByText('1 h', { exact: true }).click()
    await tab.waitForURL(/range=1h/)
    await loaded(tab)
    const accepted = tab.getByRole('region', { name: 'Accepted' })
    await accepted.getByText('Show as a table').click()
    const table = accepted.getByRole('table', { name: 'Accepted' })
    await table.waitFor()
    assert.ok((await table.getByRole('row').count()) > 30)
    await faultless(tab, 'the table behind a chart')
  })

  testWith('chromium', 'the system says what runs and with which settings, and shows no secret', async () => {
    const tab = shown()
    await open('/system', 'System')
    await tab.getByText('embedded PostgreSQL').first().waitFor()
    await tab.getByLabel('Find a setting').fill('redis')
    const row = tab.getByRole('row').filter({ hasText: 'REDIS_URL' })
    await row.getByText('not set').waitFor()
    assert.ok(!(await tab.content()).includes(seededPassword(program?.stdout() ?? '')))
  })

  testWith('chromium', 'live counters end with the session', async () => {
    const tab = shown()
    await open('/', 'Overview')
    await tab.getByText(/per second now/).waitFor()
    const ended = tab.evaluate(`fetch('/console/api/live/notify', { headers: { 'x-console': '1' } })
      .then((answer) => answer.text()).then(() => 'ended', () => 'ended')`)
    await tab.evaluate(`fetch('/console/api/sign-out', { method: 'POST', headers: { 'x-console': '1' } })`)
    assert.equal(await ended, 'ended')
    assert.deepEqual(faults, [])
  })
})

/** Sends an event as the demo client. */
async function notify({ url, stdout }: Program): Promise<void> {
  const secret = /client +demo +secret (\S+)/.exec(stdout())?.[1] ?? assert.fail('no secret was printed')
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'write:notifications' })
  const authorization = `Basic ${Buffer.from(`demo:${secret}`).toString('base64')}`
  const answer = await fetch(`${url}/token`, { method: 'POST', body, headers: { authorization } })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email', 'in-app'] }
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const sent = await fetch(`${url}/v1/notify`, { method: 'POST', headers, body: JSON.stringify(event) })
  assert.equal(sent.status, 202, await sent.text())
}
