import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { consoleOfSuite, seededPassword } from '../support/console.ts'
import { callAsDemo } from '../support/demo-client.ts'
import { started } from '../support/program.ts'
import { loaded, until } from './page.ts'

describe('figures, first steps and the system, from the first start', () => {
  const { tab, program, faults, signIn, heading, open, faultless } = consoleOfSuite({ start: () => started() })

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
    await accepted.getByRole('link', { name: 'email', exact: true }).waitFor()
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

const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email', 'in-app'] }
