import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { Person } from '../../../../console/test/support/person.ts'
import { consoleOfSuite } from '../../support/console.ts'
import { started } from '../../support/program.ts'
import { loaded } from '../page.ts'

/** A user whose mail does not arrive. */
interface Case {
  readonly id: string
  readonly username: string
  readonly email: string
  readonly password: string
}
const mona = { id: 'mona-1', username: 'mona', email: 'mona@people.example', password: 'mona reads her mail' }
const karl = { id: 'karl-2', username: 'karl', email: 'karl@people.example', password: 'karl reads his mail' }

describe('a support case without seeing an address', () => {
  const addresses: string[] = []
  let token = ''
  const { tab, program, faults, heading, reach } = consoleOfSuite({
    start: async () => {
      const configured = { GATEHOUSE_CONFIG: join(import.meta.dirname, 'support-case.yaml'), LOG_LEVEL: 'info' }
      const program = await started({ env: configured })
      token = await shopToken(program.url)
      for (const { id, username, password, email } of [mona, karl]) {
        const order = { event: 'order.shipped', user_id: id, data: { order_id: 'A-1' } }
        await call(program.url, 'POST', '/v1/suppressions', { user_id: id, channel: 'email', address: email })
        await call(program.url, 'POST', '/v1/notify', order)
        // The user is signed in somewhere: with no role at the console, that is all there is.
        await new Person(program.url).signIn(username, password)
      }
      return program
    },
    first: ['/users', 'Users'],
    person: { username: 'support', password: 'support in the console' },
  })
  const call = async (url: string, method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const json = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`${url}${path}`, { method, headers, ...json })
    const text = await answer.text()
    assert.ok(answer.ok, `${answer.status} ${text}`)
    return JSON.parse(text) as { items: { action?: string; after?: unknown; actor?: string }[] }
  }

  testWith('chromium', 'by mouse: found by mail, explained, revealed, mailed, signed out', async () => {
    tab().on('request', (request) => addresses.push(request.url()))
    await tab().getByRole('searchbox', { name: 'Id, name, mail or phone' }).fill(mona.email)
    await tab().getByRole('button', { name: 'Search', exact: true }).last().click()
    await tab().getByRole('cell', { name: 'masked: m•••@people.example' }).waitFor()
    await tab().reload()
    await tab().getByRole('cell', { name: 'masked: m•••@people.example' }).waitFor()
    await tab().getByRole('link', { name: mona.id }).click()
    await heading(mona.id)
    await tab().getByRole('tab', { name: 'Notifications' }).click()
    await tab().getByText('email: suppressed').first().waitFor()
    await tab().getByRole('link', { name: 'Why? order.shipped' }).click()
    await heading('Why?')
    await tab().getByRole('button', { name: 'Explain' }).click()
    await tab()
      .getByText(/undeliverable/)
      .first()
      .waitFor()
    await tab().goto(`${program().url}/console/users/${mona.id}`)
    const account = tab().getByRole('region', { name: 'Account' })
    await account.getByRole('button', { name: 'Reveal' }).click()
    const dialog = tab().getByRole('dialog', { name: 'Reveal personal data' })
    await dialog.getByRole('checkbox', { name: 'email' }).check()
    await dialog.getByLabel('Reason').fill('ticket 4711')
    await dialog.getByRole('button', { name: 'Reveal' }).click()
    await account.getByText(mona.email).waitFor()
    await tab().getByRole('button', { name: 'Send reset mail' }).click()
    await tab().getByText('The mail is on its way.').first().waitFor()
    await tab().getByRole('tab', { name: 'Sessions and grants' }).click()
    await tab()
      .getByRole('button', { name: /^End: mona-1/ })
      .click()
    await tab().getByText('The user is not signed in anywhere.').waitFor()
    await checkTrail(mona)
  })

  testWith('chromium', 'by keyboard: the same, and nothing is out of its reach', async () => {
    const { keyboard } = tab()
    await tab().goto(`${program().url}/console/users`)
    await heading('Users')
    await loaded(tab())
    await keyboard.press('/')
    await tab().getByRole('textbox', { name: 'Search' }).waitFor()
    await keyboard.type(karl.email)
    await tab().getByText(`User ${karl.id}`).waitFor()
    await keyboard.press('Enter')
    await heading(karl.id)
    await loaded(tab())
    await reach(tab().getByRole('tab', { name: 'Summary' }))
    await keyboard.press('ArrowRight')
    await tab().getByText('email: suppressed').first().waitFor()
    await reach(tab().getByRole('link', { name: 'Why? order.shipped' }))
    await keyboard.press('Enter')
    await heading('Why?')
    await loaded(tab())
    await reach(tab().getByRole('button', { name: 'Explain' }))
    await keyboard.press('Enter')
    await tab()
      .getByText(/undeliverable/)
      .first()
      .waitFor()
    await keyboard.press('/')
    await tab().getByRole('textbox', { name: 'Search' }).waitFor()
    const answered = Promise.withResolvers<void>()
    await tab().route('**/recipients/search', async (route) => {
      await answered.promise
      await route.continue()
    })
    await keyboard.type(karl.id)
    await tab().getByText(`User ${karl.id}`).waitFor()
    await tab().getByText('Still searching: Recipients …').waitFor()
    await tab().getByText('Not searched, your role does not allow it: Audit log.').waitFor()
    answered.resolve()
    await tab().getByText('Still searching').waitFor({ state: 'detached' })
    await tab().unrouteAll({ behavior: 'wait' })
    await keyboard.press('Enter')
    await heading(karl.id)
    await tab().getByRole('region', { name: 'Account' }).waitFor()
    await loaded(tab())
    await reach(tab().getByRole('button', { name: 'Reveal' }))
    await keyboard.press('Enter')
    await tab().getByRole('dialog', { name: 'Reveal personal data' }).waitFor()
    await reach(tab().getByRole('checkbox', { name: 'email' }))
    await keyboard.press('Space')
    await reach(tab().getByRole('textbox', { name: 'Reason' }))
    await keyboard.type('ticket 4712')
    await keyboard.press('Enter')
    await tab().getByRole('region', { name: 'Account' }).getByText(karl.email).waitFor()
    await tab().getByRole('dialog').waitFor({ state: 'detached' })
    await reach(tab().getByRole('button', { name: 'Send reset mail' }))
    await keyboard.press('Enter')
    await tab().getByText('The mail is on its way.').first().waitFor()
    await reach(tab().getByRole('tab', { name: 'Summary' }))
    for (let count = 0; count < 4; count++) await keyboard.press('ArrowRight')
    await tab().getByRole('heading', { name: 'Browsers' }).waitFor()
    await loaded(tab())
    await reach(tab().getByRole('button', { name: `End: ${karl.id}` }))
    await keyboard.press('Enter')
    await tab().getByText('The user is not signed in anywhere.').waitFor()
    await checkTrail(karl)
  })

  testWith(
    'chromium',
    'no address of a request and no log line has a mail address, and no page broke a rule',
    async () => {
      const people = [mona.email, karl.email, 'people.example']
      const leaked = (text: string) => people.filter((one) => decodeURIComponent(text).includes(one))
      for (const url of addresses) assert.deepEqual(leaked(url), [], url)
      const ended = await program().stop()
      const log = `${ended?.stdout}\n${ended?.stderr}`
      assert.match(log, /users\/search/, 'the log has its requests')
      const lines = log.split('\n').filter((line) => people.some((one) => line.includes(one)))
      assert.deepEqual(lines, [])
      assert.deepEqual(faults(), [])
    },
  )

  /** What support did is in the trail, with the reason and without the address. */
  async function checkTrail({ id, email }: Case): Promise<void> {
    const { items } = await call(program().url, 'GET', `/admin/v1/audit-events?actor=support&subject=${id}&limit=50`)
    const did = new Set(items.map(({ action }) => action))
    for (const action of ['users.reveal', 'users.mail', 'sessions.end']) assert.ok(did.has(action), action)
    assert.match(JSON.stringify(items), /ticket 471/)
    assert.ok(!JSON.stringify(items).includes(email))
  }
})

async function shopToken(url: string): Promise<string> {
  const authorization = `Basic ${Buffer.from('shop:shop-secret-0123456789').toString('base64')}`
  const body = new URLSearchParams({ grant_type: 'client_credentials' })
  const answer = await fetch(`${url}/token`, { method: 'POST', body, headers: { authorization } })
  return ((await answer.json()) as { access_token: string }).access_token
}
