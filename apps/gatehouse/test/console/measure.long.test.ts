import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { consoleOfSuite, seededPassword } from '../support/console.ts'
import { callAsDemo } from '../support/demo-client.ts'
import { started } from '../support/program.ts'
import { loaded, until } from './page.ts'

describe('figures, first steps and the system, from the first start', () => {
  const { tab, program, faults, signIn, heading, open, faultless, fitsPhone } = consoleOfSuite({
    start: () => started(),
  })

  testWith('chromium', 'the console opens with the overview, and the first steps are still to do', async () => {
    await tab().goto(`${program().url}/console/`)
    await signIn()
    await heading('Overview')
    await tab().getByRole('region', { name: 'Needs attention' }).getByText('Nothing needs attention').waitFor()
    await tab().getByRole('link', { name: 'Get started', exact: true }).click()
    await heading('Get started')
    const first = tab().getByRole('listitem').filter({ hasText: 'Send a first notification' })
    await first.getByText('open', { exact: true }).waitFor()
    await faultless('the first steps')
  })

  testWith('chromium', 'a notification is in the figures at once, and the first step is done', async () => {
    await callAsDemo(program(), 'write:notifications', { method: 'POST', path: '/v1/notify', body: event })
    await open('/start', 'Get started')
    const first = tab().getByRole('listitem').filter({ hasText: 'Send a first notification' })
    await first.getByText('done', { exact: true }).waitFor()
    await open('/', 'Overview')
    const accepted = tab().getByRole('region', { name: 'Accepted' })
    await accepted.getByRole('link', { name: 'Email', exact: true }).waitFor()
    await until(tab(), "document.querySelector('.plot canvas') !== null")
    await faultless('the overview with charts')
  })

  testWith('chromium', 'behind a chart is a table, and the range of time is in the address', async () => {
    await tab().getByText('1 h', { exact: true }).click()
    await tab().waitForURL(/range=1h/)
    await loaded(tab())
    const accepted = tab().getByRole('region', { name: 'Accepted' })
    await accepted.getByText('Show as a table').click()
    const table = accepted.getByRole('table', { name: 'Accepted' })
    await table.waitFor()
    assert.ok((await table.getByRole('row').count()) > 30)
    await faultless('the table behind a chart')
  })

  testWith('chromium', 'an SMS that failed is in the figures by provider and code', async () => {
    const sms = { ...event, channels: ['sms'] }
    const recipient = { phone_number: '+447700900123' }
    await callAsDemo(program(), 'admin:notifications', {
      method: 'PUT',
      path: '/v1/recipients/alice',
      body: recipient,
    })
    await callAsDemo(program(), 'write:notifications', { method: 'POST', path: '/v1/notify', body: sms })
    const id = await entryOf(program().url, 'sms')
    const answer = await fetch(`${program().url}/dev/mailbox/${id}/bounced`, { method: 'POST', redirect: 'manual' })
    assert.equal(answer.status, 303)
    await open('/deliverability', 'Deliverability')
    const failures = tab().getByRole('region', { name: 'Failed SMS' })
    const row = failures.getByRole('row', { name: /mailbox-sms/ })
    assert.deepEqual(await row.locator('td').allInnerTexts(), ['–', 'without a code', 'mailbox-sms', '1'])
    await failures.getByText('Show as a table').click()
    await failures.getByRole('table', { name: 'Failed SMS over time' }).waitFor()
    await tab().getByRole('region', { name: 'Dead devices' }).getByText('No device died in this time.').waitFor()
    await faultless('the figures of failed SMS')
    await fitsPhone()
  })

  testWith('chromium', 'the system says what runs and with which settings, and shows no secret', async () => {
    await open('/system', 'System')
    await tab().getByText('embedded PostgreSQL').first().waitFor()
    await tab().getByLabel('Find a setting').fill('redis')
    const row = tab().getByRole('row').filter({ hasText: 'REDIS_URL' })
    await row.getByText('not set').waitFor()
    assert.ok(!(await tab().content()).includes(seededPassword(program().stdout())))
  })

  testWith('chromium', 'live counters end with the session', async () => {
    await open('/', 'Overview')
    await tab()
      .getByText(/per second now/)
      .waitFor()
    const ended = tab().evaluate(`fetch('/console/api/live/notify', { headers: { 'x-console': '1' } })
      .then((answer) => answer.text()).then(() => 'ended', () => 'ended')`)
    await tab().evaluate(`fetch('/console/api/sign-out', { method: 'POST', headers: { 'x-console': '1' } })`)
    assert.equal(await ended, 'ended')
    assert.deepEqual(faults(), [])
  })
})

/** The message in the mailbox on a channel, once it is there. */
async function entryOf(url: string, channel: string): Promise<string> {
  const deadline = AbortSignal.timeout(10_000)
  for (;;) {
    const answer = await fetch(`${url}/dev/mailbox`, { headers: { accept: 'application/json' } })
    const { messages } = (await answer.json()) as { messages: { id: string; channel: string }[] }
    const found = messages.find((message) => message.channel === channel)
    if (found !== undefined) return found.id
    assert.ok(!deadline.aborted, `no message on ${channel} came`)
  }
}

const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email', 'in-app'] }
