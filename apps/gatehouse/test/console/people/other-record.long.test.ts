import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { consoleOfSuite } from '../../support/console.ts'
import { started } from '../../support/program.ts'
import { loaded } from '../page.ts'

const [mona, karl] = ['mona-1', 'karl-2']
const address = 'mona@people.example'

describe('the page of one record after that of another', () => {
  const { tab, faults, heading, open } = consoleOfSuite({
    start: async () => {
      const program = await started({ env: { GATEHOUSE_CONFIG: join(import.meta.dirname, 'support-case.yaml') } })
      for (const id of [mona, karl]) notified.push(await notify(program.url, id))
      return program
    },
    first: ['/users', 'Users'],
    person: { username: 'support', password: 'support in the console' },
  })
  /** Goes on to another address as a link does, without loading the page anew. */
  const goOn = async (text: string, found: string) => {
    await tab().keyboard.press('/')
    await tab().getByRole('textbox', { name: 'Search' }).fill(text)
    await tab().getByText(found).first().click()
  }
  const reveal = async (name: string) => {
    await tab().getByRole('button', { name }).first().click()
    const dialog = tab().getByRole('dialog')
    await dialog.getByLabel('Reason').fill('ticket 4711')
    const email = dialog.getByRole('checkbox', { name: 'email' })
    if (await email.isVisible()) await email.check()
    await dialog.getByRole('button', { name }).click()
    await tab().getByText(address).first().waitFor()
    await dialog.waitFor({ state: 'detached' })
  }
  const isShown = async (text: string) => (await tab().getByText(text).count()) > 0
  const mark = () => tab().evaluate("for (const part of document.querySelectorAll('nav, h1')) part.isTheSame = true")
  const isTheSame = (part: 'nav' | 'h1') => tab().evaluate(`document.querySelector('${part}').isTheSame === true`)

  testWith('chromium', 'a user has nothing of the user before, and another tab is still the same page', async () => {
    await open(`/users/${mona}`, mona)
    await mark()
    await tab().getByRole('tab', { name: 'Notifications' }).click()
    await tab().getByText('order.shipped').first().waitFor()
    await tab().getByRole('tab', { name: 'Summary' }).click()
    assert.equal(await isTheSame('h1'), true, 'a tab of the page is no other page')
    await reveal('Reveal')
    // What the services say of the next user takes a while.
    const answered = Promise.withResolvers<void>()
    await tab().route(`**/console/api/admin/v1/users/${karl}`, async (route) => {
      await answered.promise
      await route.continue()
    })
    await goOn(karl, `User ${karl}`)
    await heading(karl)
    assert.equal(await isShown(address), false)
    assert.equal(await tab().getByRole('button', { name: 'Edit' }).count(), 0)
    assert.equal(await isShown(mona), false, 'nothing of the user before is there while the next is read')
    answered.resolve()
    await loaded(tab())
    assert.equal(await isShown(address), false)
    assert.deepEqual([await isTheSame('h1'), await isTheSame('nav')], [false, true])
  })

  testWith('chromium', 'nor has a notification', async () => {
    const [first = '', second = ''] = notified
    await open(`/notifications/${first}`, 'order.shipped')
    await mark()
    await reveal('Reveal addresses')
    await goOn(second, `order.shipped · ${karl}`)
    await tab().waitForURL(`**/notifications/${second}`)
    await tab().getByText(karl).first().waitFor()
    assert.equal(await isShown(address), false)
    assert.deepEqual([await isTheSame('nav'), faults()], [true, []])
  })
})

const notified: string[] = []

/** Sends an event to a user, and answers the id of the notification. */
async function notify(url: string, userId: string): Promise<string> {
  const basic = `Basic ${Buffer.from('shop:shop-secret-0123456789').toString('base64')}`
  const form = new URLSearchParams({ grant_type: 'client_credentials' })
  const token = await fetch(`${url}/token`, { method: 'POST', body: form, headers: { authorization: basic } })
  const { access_token } = (await token.json()) as { access_token: string }
  const body = JSON.stringify({ event: 'order.shipped', user_id: userId, data: { order_id: 'A-1' } })
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/v1/notify`, { method: 'POST', headers, body })
  return ((await answer.json()) as { id: string }).id
}
