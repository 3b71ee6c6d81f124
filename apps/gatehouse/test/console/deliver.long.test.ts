import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { findProgram, testWith } from '@gatehouse/testing'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { Person } from '../../../console/test/support/person.ts'
import { faultless } from '../support/accessibility.ts'
import { seededPassword, signInOnPages, watchFaults } from '../support/console.ts'
import { type Program, started } from '../support/program.ts'
import { loaded } from './page.ts'

const supportPassword = 'sara helps in the console'

describe('from the first start to a delivered message, in the console', () => {
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
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    tab = await newTab(context)
  })
  after(async () => {
    await browser?.close()
    await program?.stop()
  })

  const newTab = async (of: BrowserContext) => {
    const page = await of.newPage()
    page.setDefaultTimeout(60_000)
    const accept = (text: string) => text.startsWith('Failed to load resource')
    const own = watchFaults(page, accept)
    page.on('close', () => faults.push(...own))
    return page
  }
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
  const open = async (page: Page, path: string, name: string) => {
    await page.goto(`${program.url}/console${path}`)
    await heading(page, name)
    await loaded(page)
  }
  /** Answers as the provider of the newest message of a channel would. */
  const report = async (channel: string, event: string, state: string) => {
    const answer = await fetch(`${program.url}/dev/mailbox`, { headers: { accept: 'application/json' } })
    const { messages } = (await answer.json()) as { messages: { id: string; channel: string; event: string }[] }
    const { id } = messages.find((each) => each.channel === channel && each.event === event) ?? assert.fail(channel)
    const reported = await fetch(`${program.url}/dev/mailbox/${id}/${state}`, { method: 'POST', redirect: 'manual' })
    assert.ok(reported.status < 400, `${reported.status} ${await reported.text()}`)
  }
  const history = (page: Page, channel: string) => page.getByRole('region', { name: channel, exact: true })

  testWith(
    'chromium',
    'signed in, the owner sends, and the histories go live to delivered without a reload',
    async () => {
      const printed = program.stdout()
      await tab.goto(/Console +(\S+)/.exec(printed)?.[1] ?? assert.fail('no address was printed'))
      await signInOnPages(tab, 'alice', seededPassword(printed))
      await tab.getByRole('link', { name: 'Send', exact: true }).click()
      await heading(tab, 'Send')
      await tab.getByLabel('Event type').fill('order.shipped')
      await tab.getByLabel('User id').fill('alice')
      await tab.getByText('"order_id"').first().waitFor()
      await tab.getByText('would be sent').first().waitFor()
      await faultless(tab, 'Send')
      await tab.evaluate('globalThis.isSameDocument = true')
      await tab.getByRole('button', { name: 'Send', exact: true }).click()
      await heading(tab, 'order.shipped')
      await tab.getByText('Live', { exact: true }).waitFor()
      await history(tab, 'Email').getByText('sent', { exact: true }).waitFor()
      await report('email', 'order.shipped', 'delivered')
      await history(tab, 'Email').getByText('delivered', { exact: true }).waitFor()
      assert.equal(await tab.evaluate('globalThis.isSameDocument'), true)
      await faultless(tab, 'a notification')
      await tab.getByRole('tab', { name: 'Content' }).click()
      await tab.getByText('rendered again from the version that was sent').first().waitFor()
      await faultless(tab, 'the content of a notification')
    },
  )

  testWith('chromium', 'it is found in the list by filters, which are saved, exported and copied', async () => {
    await tab.getByRole('link', { name: 'Notifications', exact: true }).click()
    await heading(tab, 'Notifications')
    await tab.getByLabel('User', { exact: true }).fill('alice')
    await tab.getByLabel('State').selectOption('delivered')
    await tab.getByRole('button', { name: 'Search', exact: true }).last().click()
    const row = tab.getByRole('row').filter({ hasText: 'order.shipped' })
    await row.getByText('Email delivered').waitFor()
    assert.match(tab.url(), /state=delivered/)
    await tab.getByRole('button', { name: 'Saved views' }).click()
    await tab.getByLabel('Name').fill('delivered to alice')
    await tab.getByRole('button', { name: 'Save this view' }).click()
    await tab.getByRole('button', { name: 'delivered to alice', exact: true }).waitFor()
    await faultless(tab, 'saved views')
    await tab.keyboard.press('Escape')
    const download = tab.waitForEvent('download')
    await tab.getByRole('button', { name: 'Export CSV' }).click()
    assert.match((await download).suggestedFilename(), /^notifications-.*\.csv$/)
    await tab.getByRole('button', { name: 'Copy as curl' }).click()
    const copied = String(await tab.evaluate('navigator.clipboard.readText()'))
    assert.match(copied, /\/v1\/notifications\?user_id=alice&state=delivered/)
    await tab.getByRole('button', { name: 'Clear filters' }).click()
    await tab.getByRole('button', { name: 'Saved views' }).click()
    await tab.getByRole('button', { name: 'delivered to alice', exact: true }).click()
    await row.getByRole('link', { name: 'order.shipped' }).click()
    await heading(tab, 'order.shipped')
  })

  testWith('chromium', 'what arrives meanwhile is behind a button, and no row moves', async () => {
    await open(tab, '/notifications', 'Notifications')
    await tab.getByText('Live', { exact: true }).waitFor()
    const count = await tab.getByRole('row').count()
    const token = await tokenOf(program, 'write:notifications')
    const send = () => call(program, token, 'POST', '/v1/notify', { ...event('alice'), channels: ['push', 'email'] })
    for (let n = 0; n < 3; n++) await send()
    const button = tab.getByRole('button', { name: '3 new' })
    await button.waitFor()
    assert.equal(await tab.getByRole('row').count(), count)
    await button.click()
    await tab
      .getByRole('row')
      .nth(count + 2)
      .waitFor()
    await button.waitFor({ state: 'detached' })
  })

  testWith('chromium', 'Why? says where a user without consent is stopped, and by whose word', async () => {
    const token = await tokenOf(program, 'admin:notifications')
    await call(program, token, 'PUT', '/v1/recipients/bob', { email: 'bob@example.com', locale: 'en' })
    await call(program, token, 'PUT', '/v1/users/bob/preferences/order.shipped', { channels: [] })
    await tab.getByRole('link', { name: 'Why?', exact: true }).click()
    await heading(tab, 'Why?')
    await tab.getByLabel('Event type').fill('order.shipped')
    await tab.getByLabel('User id').fill('bob')
    await tab.getByRole('button', { name: 'Explain' }).click()
    const stopped = tab.getByRole('listitem').filter({ hasText: 'stops here' })
    await stopped.getByText("by the user's preference for this event").waitFor()
    await tab.getByText('Addresses of this user are known').waitFor()
    await faultless(tab, 'Why?')
    await tab.getByRole('button', { name: 'Copy the answer for the customer' }).click()
    const copied = String(await tab.evaluate('navigator.clipboard.readText()'))
    assert.match(copied, /Email: it is not sent\. Your settings leave this channel out/)
  })

  testWith('chromium', 'what failed is replayed from its history, and a notification is sent again', async () => {
    const token = await tokenOf(program, 'write:notifications')
    const body = { event: 'newsletter.weekly', user_id: 'alice', data: {}, channels: ['sms'] }
    await call(program, token, 'POST', '/v1/notify', body)
    await open(tab, '/notifications?event=newsletter.weekly', 'Notifications')
    await tab.getByRole('row').nth(1).getByRole('link').first().click()
    await heading(tab, 'newsletter.weekly')
    await history(tab, 'SMS').getByText('The template has no text for this channel.').first().waitFor()
    await history(tab, 'SMS').getByRole('button', { name: 'Replay: SMS' }).click()
    await tab.getByText('It is delivered again.').waitFor()
    const before = tab.url()
    await tab.getByRole('button', { name: 'Send again' }).click()
    const dialog = tab.getByRole('dialog', { name: 'Send again' })
    await dialog.getByLabel('Email').check()
    await dialog.getByLabel('SMS').uncheck()
    await faultless(tab, 'Send again')
    await dialog.getByRole('button', { name: 'Send again' }).click()
    await tab.getByText('Sends again').waitFor()
    await history(tab, 'Email').getByText('sent', { exact: true }).waitFor()
    await tab.getByRole('group', { name: 'Related' }).getByRole('link').click()
    await tab.waitForURL(before)
    await tab.getByText('Sent again as').waitFor()
  })

  testWith('chromium', 'the same with the keyboard alone', async () => {
    const press = async (...keys: string[]) => {
      for (const key of keys) await tab.keyboard.press(key)
    }
    /** Goes on with Tab until the element that has the focus is the one with this name. */
    const tabTo = async (name: string) => {
      const found = `(() => { const e = document.activeElement; return (e.labels?.[0]?.innerText ?? e.getAttribute('aria-label') ?? e.innerText ?? '').replace('*', '').trim() })()`
      for (let n = 0; n < 80; n++) {
        if ((await tab.evaluate(found)) === name) return
        await press('Tab')
      }
      assert.fail(`Tab never came to ${name}`)
    }
    await open(tab, '/users', 'Users')
    await press('g', 'f')
    await heading(tab, 'Send')
    await tabTo('Event type')
    await tab.keyboard.type('payment.failed')
    await tabTo('User id')
    await tab.keyboard.type('alice')
    await tab.getByText('would be sent').first().waitFor()
    await tabTo('Send')
    await press('Enter')
    await heading(tab, 'payment.failed')
    await history(tab, 'Email').getByText('sent', { exact: true }).waitFor()
    await report('email', 'payment.failed', 'delivered')
    await history(tab, 'Email').getByText('delivered', { exact: true }).waitFor()
    await press('g', 'n')
    await heading(tab, 'Notifications')
    await tabTo('User')
    await tab.keyboard.type('alice')
    await press('Enter')
    await tab.getByRole('row').nth(1).waitFor()
    await tab.getByRole('heading', { level: 1 }).focus()
    await press('j', 'j', 'k', 'x')
    await tab.getByText('1 selected').waitFor()
    const focused = await tab.evaluate("document.activeElement.querySelector('a[href]')?.innerText")
    await press('Enter')
    await heading(tab, String(focused))
    await press('g', 'w')
    await heading(tab, 'Why?')
    await tabTo('Event type')
    await tab.keyboard.type('order.shipped')
    await tabTo('User id')
    await tab.keyboard.type('bob')
    await press('Enter')
    await tab.getByText('stops here').waitFor()
  })

  testWith(
    'chromium',
    'support explains without seeing an address, sends nothing, and reveals for a reason',
    async () => {
      const token = await tokenOf(program, 'admin:users')
      const password = seededPassword(program.stdout())
      await call(program, token, 'POST', '/admin/v1/users', { id: 'sara', username: 'sara', password: supportPassword })
      const owner = new Person(program.url)
      await owner.signIn('alice', password)
      const role = '/admin/v1/roles/gatehouse-support/members/sara'
      assert.ok((await owner.api(role, { method: 'PUT' })).ok)
      const own = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' })
      const page = await newTab(own)
      await page.goto(`${program.url}/console/`)
      await signInOnPages(page, 'sara', supportPassword)
      await page.getByRole('link', { name: 'Send', exact: true }).click()
      await page.getByText('Your role explains; it does not send.').waitFor()
      await page.getByLabel('Event type').fill('order.shipped')
      await page.getByLabel('User id').fill('bob')
      await page.getByText('No channel would be used.').waitFor()
      assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).count(), 0)
      const address = 'bob@example.com'
      const seen: string[] = []
      const look = async () => seen.push(String(await page.evaluate('document.body.innerText')))
      await look()
      await open(page, '/why?event=order.shipped&user=bob', 'Why?')
      await page.getByText('stops here').waitFor()
      await look()
      await open(page, '/notifications?event=order.shipped', 'Notifications')
      await look()
      await page.getByRole('row').nth(1).getByRole('link').first().click()
      await page.getByText('Personal data is masked for your role.').waitFor()
      await look()
      await page.getByRole('tab', { name: 'Content' }).click()
      await page.getByText('template, its variables unfilled').first().waitFor()
      await look()
      assert.equal(await page.getByRole('button', { name: 'Send again' }).count(), 0)
      assert.ok(
        seen.every((text) => !text.includes(address) && !/\S+@(?!•)\S+\.\S+/.test(text)),
        seen.join('\n'),
      )
      await page.getByRole('button', { name: 'Reveal addresses' }).click()
      await page.getByLabel('Reason').fill('the customer calls')
      await faultless(page, 'a reason')
      await page.getByRole('dialog').getByRole('button', { name: 'Reveal addresses' }).click()
      await page.getByText('alice@', { exact: false }).first().waitFor()
      await page.close()
    },
  )

  testWith('chromium', 'no page broke a rule', async () => {
    await tab.close()
    assert.deepEqual(faults, [])
  })
})

const event = (user: string) => ({ event: 'order.shipped', user_id: user, data: { order_id: 'A-1' } })

/** A token of the demo client. */
async function tokenOf(program: Program, scope: string): Promise<string> {
  const secret = /client +demo +secret (\S+)/.exec(program.stdout())?.[1] ?? assert.fail('no secret was printed')
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope })
  const authorization = `Basic ${Buffer.from(`demo:${secret}`).toString('base64')}`
  const answer = await fetch(`${program.url}/token`, { method: 'POST', body, headers: { authorization } })
  return ((await answer.json()) as { access_token: string }).access_token
}

async function call(program: Program, token: string, method: string, path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${program.url}${path}`, { method, headers, body: JSON.stringify(body) })
  assert.ok(answer.ok, `${method} ${path} ${answer.status} ${await answer.text()}`)
}
