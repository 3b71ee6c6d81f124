import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { consoleOfSuite } from '../support/console.ts'
import { callAsDemo } from '../support/demo-client.ts'
import { started } from '../support/program.ts'
import { loaded, until } from './page.ts'

describe('what people do every day in the console', () => {
  const { tab, program, faults, signIn, heading, open, faultless, toast } = consoleOfSuite({ start: () => started() })
  const searchButton = () => tab().getByRole('form', { name: 'Filters' }).getByRole('button', { name: 'Search' })

  testWith('chromium', 'a first visit, which nobody is signed in for, has no request that fails', async () => {
    const failed: string[] = []
    tab().on('response', (answer) => {
      if (answer.status() >= 400) failed.push(`${answer.status()} ${answer.url()}`)
    })
    await tab().goto(`${program().url}/console/`)
    await signIn()
    await heading('Overview')
    await loaded(tab())
    assert.deepEqual(failed, [])
  })

  testWith(
    'chromium',
    'a search that is pressed again with the same filters asks the server, and says when',
    async () => {
      await open('/users?q=carol', 'Users')
      await tab().getByText('Nothing matches the filters.').waitFor()
      await callAsDemo(program(), 'admin:users', { method: 'POST', path: '/admin/v1/users', body: { id: 'carol' } })
      await searchButton().click()
      await tab().getByRole('link', { name: 'carol', exact: true }).waitFor()
      await tab()
        .getByText(/^Read again at \d/)
        .waitFor()
      await faultless('a list that was read again')
      await tab().getByLabel('Plan').fill('free')
      await searchButton().click()
      await tab().waitForURL(/plan=free/)
      assert.equal(await tab().getByText('Read again at').count(), 0, 'this is another search')
    },
  )

  testWith('chromium', 'what is typed to be sent outlasts a reload, until it is sent', async () => {
    await open('/send', 'Send')
    await tab().getByLabel('Event type').fill('order.shipped')
    await tab().getByLabel('User id').fill('alice')
    // The form begins with the variables of the text.
    await until(tab(), "document.querySelector('textarea').value.includes('tracking_url')")
    await tab().getByLabel('Data (JSON)').fill('{"order_id": "R-1"}')
    await tab().getByText('Many', { exact: true }).click()
    const events = () => tab().getByLabel('Events (JSON array, or one object a line)')
    const event = JSON.stringify({ event: 'order.shipped', user_id: 'alice', data: { order_id: 'R-2' } })
    await events().fill(event)
    await tab().reload()
    await heading('Send')
    assert.equal(await events().inputValue(), event)
    await tab().getByText('Now', { exact: true }).click()
    assert.equal(await tab().getByLabel('Data (JSON)').inputValue(), '{"order_id": "R-1"}')
    assert.equal(await tab().getByLabel('User id').inputValue(), 'alice')
    await open('/send?event=order.delayed', 'Send')
    assert.equal(await tab().getByLabel('Event type').inputValue(), 'order.delayed', 'another address is another form')
    await open('/send', 'Send')
    await tab().getByText('Many', { exact: true }).click()
    await tab().getByRole('button', { name: 'Send 1' }).click()
    await tab().getByRole('dialog').getByRole('button', { name: 'Send 1' }).click()
    await toast('Done.')
    await tab().reload()
    await heading('Send')
    assert.equal(await events().count(), 0, 'what was sent is not offered again')
  })

  testWith('chromium', 'a line of the palette is selected as soon as it is there', async () => {
    await open('/users', 'Users')
    await tab().keyboard.press('/')
    await tab().getByRole('textbox', { name: 'Search' }).waitFor()
    await tab().evaluate(`new MutationObserver(() => {
      const lines = document.querySelectorAll('[data-action]')
      if (lines.length > 0 && !document.querySelector('[data-selected]')) document.body.dataset.unselected = lines[0].innerText
    }).observe(document.body, { childList: true, subtree: true })`)
    await tab().keyboard.type('alice')
    await tab().getByText('User alice').waitFor()
    assert.equal(await tab().evaluate('document.body.dataset.unselected'), undefined)
    await tab().keyboard.press('Enter')
    await heading('alice')
  })

  testWith(
    'chromium',
    'a search text that no service takes is not sent, and the palette says how long it may be',
    async () => {
      await open('/', 'Overview')
      const refused: string[] = []
      tab().on('response', (answer) => {
        if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`)
      })
      await tab().keyboard.press('/')
      const field = tab().getByRole('textbox', { name: 'Search' })
      await field.fill('a'.repeat(129))
      await tab().getByText('such a text has at most 128 characters').waitFor()
      await faultless('a search text that is too long')
      await field.fill('')
      await field.focus()
      await tab().keyboard.insertText('a'.repeat(2_000))
      assert.equal((await field.inputValue()).length, 1_000)
      await tab().getByText('such a text has at most 128 characters').waitFor()
      assert.deepEqual(refused, [])
    },
  )

  testWith('chromium', 'a sign-out leaves nothing of what was typed to be sent', async () => {
    await open('/send', 'Send')
    await tab().getByLabel('User id').fill('a customer')
    await tab().getByRole('button', { name: 'Sign out' }).click()
    await tab().waitForURL(/signed-out|end_session/)
    await tab().goto(`${program().url}/console/signed-out`)
    assert.deepEqual(await tab().evaluate('Object.keys(sessionStorage).filter((key) => key.includes("form"))'), [])
    assert.deepEqual(faults(), [])
  })
})
