import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { Person } from '../../../../console/test/support/person.ts'
import { consoleOfSuite, openConsole, seededPassword } from '../../support/console.ts'
import { callAsDemo } from '../../support/demo-client.ts'
import { started } from '../../support/program.ts'

const supportPassword = 'sara helps in the console'

describe('from the first start to a delivered message, in the console', () => {
  const suite = consoleOfSuite({ start: () => started() })
  const { tab, program, signIn, heading, open, faultless, reach, press } = suite
  const call = (method: string, path: string, body: object) =>
    callAsDemo(program(), 'admin:users admin:notifications write:notifications', { method, path, body })
  /** Answers as the provider of the newest message of a channel would. */
  const report = async (channel: string, event: string, state: string) => {
    const answer = await fetch(`${program().url}/dev/mailbox`, { headers: { accept: 'application/json' } })
    const { messages } = (await answer.json()) as { messages: { id: string; channel: string; event: string }[] }
    const { id } = messages.find((each) => each.channel === channel && each.event === event) ?? assert.fail(channel)
    const reported = await fetch(`${program().url}/dev/mailbox/${id}/${state}`, { method: 'POST', redirect: 'manual' })
    assert.ok(reported.status < 400, `${reported.status} ${await reported.text()}`)
  }
  const history = (channel: string) => tab().getByRole('region', { name: channel, exact: true })

  testWith(
    'chromium',
    'signed in, the owner sends, and the histories go live to delivered without a reload',
    async () => {
      const printed = program().stdout()
      await tab().goto(/Console +(\S+)/.exec(printed)?.[1] ?? assert.fail('no address was printed'))
      await signIn()
      await tab().getByRole('link', { name: 'Send', exact: true }).click()
      await heading('Send')
      await tab().getByLabel('Event type').fill('order.shipped')
      await tab().getByLabel('User id').fill('alice')
      await tab().getByText('"order_id"').first().waitFor()
      await tab().getByText('would be sent').first().waitFor()
      await faultless('Send')
      await tab().evaluate('globalThis.isSameDocument = true')
      await tab().getByRole('button', { name: 'Send', exact: true }).click()
      await heading('order.shipped')
      await tab().getByText('Live', { exact: true }).waitFor()
      await history('Email').getByText('sent', { exact: true }).waitFor()
      await report('email', 'order.shipped', 'delivered')
      await history('Email').getByText('delivered', { exact: true }).waitFor()
      assert.equal(await tab().evaluate('globalThis.isSameDocument'), true)
      await faultless('a notification')
      await tab().getByRole('tab', { name: 'Content' }).click()
      await tab().getByText('rendered again from the version that was sent').first().waitFor()
      await faultless('the content of a notification')
    },
  )

  testWith('chromium', 'it is found in the list by filters, which are saved, exported and copied', async () => {
    await tab().getByRole('link', { name: 'Notifications', exact: true }).click()
    await heading('Notifications')
    await tab().getByLabel('User', { exact: true }).fill('alice')
    await tab().getByLabel('State').selectOption('delivered')
    await tab().getByRole('button', { name: 'Search', exact: true }).last().click()
    const row = tab().getByRole('row').filter({ hasText: 'order.shipped' })
    await row.getByText('Email delivered').waitFor()
    assert.match(tab().url(), /state=delivered/)
    await tab().getByRole('button', { name: 'Saved views' }).click()
    await tab().getByLabel('Name').fill('delivered to alice')
    await tab().getByRole('button', { name: 'Save this view' }).click()
    await tab().getByRole('button', { name: 'delivered to alice', exact: true }).waitFor()
    await faultless('saved views')
    await tab().keyboard.press('Escape')
    const download = tab().waitForEvent('download')
    await tab().getByRole('button', { name: 'Export CSV' }).click()
    assert.match((await download).suggestedFilename(), /^notifications-.*\.csv$/)
    await tab().getByRole('button', { name: 'Copy as curl' }).click()
    const copied = String(await tab().evaluate('navigator.clipboard.readText()'))
    assert.match(copied, /\/v1\/notifications\?user_id=alice&state=delivered/)
    await tab().getByRole('button', { name: 'Clear filters' }).click()
    await tab().getByRole('button', { name: 'Saved views' }).click()
    await tab().getByRole('button', { name: 'delivered to alice', exact: true }).click()
    await row.getByRole('link', { name: 'order.shipped' }).click()
    await heading('order.shipped')
  })

  testWith('chromium', 'what arrives meanwhile is behind a button, and no row moves', async () => {
    await open('/notifications', 'Notifications')
    await tab().getByText('Live', { exact: true }).waitFor()
    const count = await tab().getByRole('row').count()
    const send = () => call('POST', '/v1/notify', { ...event('alice'), channels: ['push', 'email'] })
    for (let n = 0; n < 3; n++) await send()
    const button = tab().getByRole('button', { name: '3 new' })
    await button.waitFor()
    assert.equal(await tab().getByRole('row').count(), count)
    await button.click()
    await tab()
      .getByRole('row')
      .nth(count + 2)
      .waitFor()
    await button.waitFor({ state: 'detached' })
  })

  testWith('chromium', 'Why? says where a user without consent is stopped, and by whose word', async () => {
    await call('PUT', '/v1/recipients/bob', { email: 'bob@example.com', locale: 'en' })
    await call('PUT', '/v1/users/bob/preferences/order.shipped', { channels: [] })
    await tab().getByRole('link', { name: 'Why?', exact: true }).click()
    await heading('Why?')
    await tab().getByLabel('Event type').fill('order.shipped')
    await tab().getByLabel('User id').fill('bob')
    await tab().getByRole('button', { name: 'Explain' }).click()
    const stopped = tab().getByRole('listitem').filter({ hasText: 'stops here' })
    await stopped.getByText("by the user's preference for this event").waitFor()
    await tab().getByText('Addresses of this user are known').waitFor()
    await faultless('Why?')
    await tab().getByRole('button', { name: 'Copy the answer for the customer' }).click()
    const copied = String(await tab().evaluate('navigator.clipboard.readText()'))
    assert.match(copied, /Email: it is not sent\. Your settings leave this channel out/)
  })

  testWith('chromium', 'what failed is replayed from its history, and a notification is sent again', async () => {
    const body = { event: 'newsletter.weekly', user_id: 'alice', data: {}, channels: ['sms'] }
    await call('POST', '/v1/notify', body)
    await open('/notifications?event=newsletter.weekly', 'Notifications')
    await tab().getByRole('row').nth(1).getByRole('link').first().click()
    await heading('newsletter.weekly')
    await history('SMS').getByText('The template has no text for this channel.').first().waitFor()
    await history('SMS').getByRole('button', { name: 'Replay: SMS' }).click()
    await tab().getByText('It is delivered again.').waitFor()
    const before = tab().url()
    await tab().getByRole('button', { name: 'Send again' }).click()
    const dialog = tab().getByRole('dialog', { name: 'Send again' })
    await dialog.getByLabel('Email').check()
    await dialog.getByLabel('SMS').uncheck()
    await faultless('Send again')
    await dialog.getByRole('button', { name: 'Send again' }).click()
    await tab().getByText('Sends again').waitFor()
    await history('Email').getByText('sent', { exact: true }).waitFor()
    await tab().getByRole('group', { name: 'Related' }).getByRole('link').click()
    await tab().waitForURL(before)
    await tab().getByText('Sent again as').waitFor()
  })

  testWith('chromium', 'the same with the keyboard alone', async () => {
    const keys = async (...pressed: string[]) => {
      for (const key of pressed) await tab().keyboard.press(key)
    }
    const field = (name: string) =>
      tab()
        .getByRole('textbox', { name, exact: true })
        .or(tab().getByRole('combobox', { name, exact: true }))
    await open('/users', 'Users')
    await keys('g', 'f')
    await heading('Send')
    await reach(field('Event type'))
    await tab().keyboard.type('payment.failed')
    await reach(field('User id'))
    await tab().keyboard.type('alice')
    await tab().getByText('would be sent').first().waitFor()
    await press('Send')
    await heading('payment.failed')
    await history('Email').getByText('sent', { exact: true }).waitFor()
    await report('email', 'payment.failed', 'delivered')
    await history('Email').getByText('delivered', { exact: true }).waitFor()
    await keys('g', 'n')
    await heading('Notifications')
    await reach(field('User'))
    await tab().keyboard.type('alice')
    await keys('Enter')
    await tab().getByRole('row').nth(1).waitFor()
    await tab().getByRole('heading', { level: 1 }).focus()
    await keys('j', 'j', 'k', 'x')
    await tab().getByText('1 selected').waitFor()
    const focused = await tab().evaluate("document.activeElement.querySelector('a[href]')?.innerText")
    await keys('Enter')
    await heading(String(focused))
    await keys('g', 'w')
    await heading('Why?')
    await reach(field('Event type'))
    await tab().keyboard.type('order.shipped')
    await reach(field('User id'))
    await tab().keyboard.type('bob')
    await keys('Enter')
    await tab().getByText('stops here').waitFor()
  })

  testWith(
    'chromium',
    'support explains without seeing an address, sends nothing, and reveals for a reason',
    async (t) => {
      const password = seededPassword(program().stdout())
      await call('POST', '/admin/v1/users', { id: 'sara', username: 'sara', password: supportPassword })
      const owner = new Person(program().url)
      await owner.signIn('alice', password)
      const role = '/admin/v1/roles/gatehouse-support/members/sara'
      assert.ok((await owner.api(role, { method: 'PUT' })).ok)
      const sara = await openConsole(t, program())
      const page = sara.tab()
      await page.goto(`${program().url}/console/`)
      await sara.signIn({ username: 'sara', password: supportPassword })
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
      await sara.open('/why?event=order.shipped&user=bob', 'Why?')
      await page.getByText('stops here').waitFor()
      await look()
      await sara.open('/notifications?event=order.shipped', 'Notifications')
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
      await sara.faultless('a reason')
      await page.getByRole('dialog').getByRole('button', { name: 'Reveal addresses' }).click()
      await page.getByText('alice@', { exact: false }).first().waitFor()
      assert.deepEqual(sara.faults(), [])
    },
  )

  testWith('chromium', 'no page broke a rule', async () => {
    assert.deepEqual(suite.faults(), [])
  })
})

const event = (user: string) => ({ event: 'order.shipped', user_id: user, data: { order_id: 'A-1' } })
