import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '@gatehouse/kit'
import { findProgram, temporaryFolder, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { TestApp } from '../../../../packages/identity/test/support/factors/factors.ts'
import { pkce } from '../../../../packages/identity/test/support/journey.ts'
import { everyLook, faultless } from '../support/accessibility.ts'
import { type Program, started } from '../support/program.ts'

/*
 * Every page of an account and of organizations, as a user of the whole program meets them: looked at wide and narrow,
 * light and dark, in both languages.
 */

const secret = 'the-secret-of-who-manages-organizations'
const password = 'four candles, please'
const person = (id: string, name: string) => ({
  id,
  password,
  email: `${id}@example.com`,
  email_verified: true,
  claims: { name },
})
const longName = 'Donaudampfschifffahrtsgesellschaftskapitänsverband und Partner GmbH'
const owner = { user_id: 'olga', roles: ['owner'] }

const configuration = {
  mfa: 'optional',
  users: [person('olga', 'Olga Owner'), person('emma', 'Emma Example'), person('dora', 'Dora Beispiel')],
  clients: [
    {
      client_id: 'office',
      client_secret: secret,
      grant_types: ['client_credentials'],
      scopes: ['admin:organizations'],
    },
    {
      client_id: 'portal',
      client_name: 'Portal',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['http://localhost:9/callback'],
      scopes: ['openid', 'profile', 'read:invoices'],
    },
    {
      client_id: 'tool',
      client_name: 'Command line tool',
      token_endpoint_auth_method: 'none',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      scopes: ['openid', 'profile'],
    },
  ],
  organization_roles: [{ key: 'editor', name: 'Editor', permissions: ['read:invoices'] }],
  organizations: [
    {
      id: 'acme',
      name: 'Acme Ltd',
      members: ['emma', 'dora'].map((user_id) => ({ user_id, roles: ['editor'] })).concat(owner),
    },
    { id: 'long', name: longName, members: ['emma', 'dora'].map((user_id) => ({ user_id, roles: [] })) },
    { id: 'new', name: 'New & Co' },
  ],
  connections: [{ id: 'google', kind: 'google', client_id: 'a.apps.example', client_secret: secret }],
}

interface Message {
  readonly address: string
  readonly body: string
}

describe('the pages of an account', () => {
  let program: Program
  let browser: Browser
  before(async () => {
    const file = join(temporaryFolder('account-pages'), 'gatehouse.yaml')
    writeFileSync(file, JSON.stringify(configuration))
    program = await started({ env: { GATEHOUSE_CONFIG: file } })
    const executablePath = findProgram('chromium')
    if (executablePath) browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  })
  after(async () => {
    await browser?.close()
    assert.equal((await program.stop()).code, 0)
  })

  async function call(path: string, form: Record<string, string>): Promise<Record<string, string>> {
    const answer = await fetch(`${program.url}${path}`, { method: 'POST', body: new URLSearchParams(form) })
    return (await answer.json()) as Record<string, string>
  }

  /** What the next message to an address contains; it is delivered in the background. */
  async function received(address: string, pattern: RegExp): Promise<string> {
    for (let attempts = 0; attempts < 600; attempts++) {
      const answer = await fetch(`${program.url}/dev/mailbox`, { headers: { accept: 'application/json' } })
      const { messages } = (await answer.json()) as { messages: Message[] }
      for (const message of messages) {
        const found = message.address === address ? pattern.exec(message.body) : null
        if (found) return found[1] ?? ''
      }
      await pause(50)
    }
    return assert.fail(`no message to ${address} with ${pattern}`)
  }

  async function invite(email: string): Promise<string> {
    const credentials = { client_id: 'office', client_secret: secret }
    const { access_token } = await call('/token', { grant_type: 'client_credentials', ...credentials })
    const answer = await fetch(`${program.url}/admin/v1/organizations/new/invitations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ email, roles: ['editor'] }),
    })
    assert.equal(answer.status, 201, await answer.text())
    return received(email, /(http\S+\/invitation\?token=\S+)/)
  }

  async function userCode(): Promise<string> {
    return (await call('/device_authorization', { client_id: 'tool', scope: 'openid profile' })).user_code ?? ''
  }

  const authorizeAddress = () => {
    const request = { client_id: 'portal', response_type: 'code', scope: 'openid profile read:invoices' }
    return `${program.url}/authorize?${new URLSearchParams({ ...request, code_challenge: pkce().code_challenge })}`
  }

  for (const [user, locale, phoneNumber] of [
    ['emma', 'en-GB', '+442079460123'],
    ['dora', 'de-DE', '+4930901820'],
  ] as const)
    testWith('chromium', `all of them are faultless in every look, in ${locale}`, async () => {
      const page = await (await browser.newContext({ locale })).newPage()
      const submit = () => page.click('main form[method=post] button[type=submit]')
      const look = async (name: string) => {
        await everyLook(page, async (how) => {
          await faultless(page, `${name}, ${locale} ${how}`)
          const [scroll, shown] = (await page.evaluate(
            '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
          )) as [number, number]
          assert.ok(scroll <= shown, `${name}, ${locale} ${how}: no horizontal scrolling`)
          assert.equal(await page.locator('h1').count(), 1, name)
          assert.equal(await page.getAttribute('html', 'lang'), locale.slice(0, 2), name)
        })
      }
      const open = async (path: string, name: string) => {
        await page.goto(`${program.url}${path}`)
        await look(name)
      }
      await walkOrganizations(page, look, submit, user)
      await open('/account', 'account')
      await open('/account/profile', 'profile')
      await open('/account/password', 'password')
      await open('/account/passkeys', 'passkeys')
      await open('/account/passkeys/new', 'new passkey')
      await open('/account/providers', 'providers')
      await open('/account/delete', 'deletion')
      await open('/account/email', 'email address')
      await page.fill('#email', `${user}@new.example`)
      await submit()
      await look('code for an email address')
      await open('/account/phone', 'phone number')
      await page.fill('#phone_number', '12')
      await submit()
      await look('wrong phone number')
      await page.fill('#phone_number', phoneNumber)
      await submit()
      await look('code for a phone number')
      await page.fill('#code', await received(phoneNumber, /^(\d{6}) /))
      await submit()
      await look('confirmed phone number')
      await open('/account', 'account with a number')
      assert.match((await page.textContent('main')) ?? '', new RegExp(`\\${phoneNumber}\\s*(confirmed|bestätigt)`))
      await received(`${user}@example.com`, /(••• \d{3}|\+\d+•+\d+|\+\d[^\n]*•)/)
      await open('/account/factors', 'factors')
      await open('/account/factors/app', 'set up an app')
      await page.fill('#code', new TestApp({ clock: systemClock }, { text: await page.content() }).code())
      await submit()
      await look('recovery codes')
      await open('/account/factors', 'factors with an app')
      await open('/account/passkeys', 'passkeys with an app')
      await open('/end_session', 'sign out')
    })

  async function walkOrganizations(
    page: Page,
    look: (name: string) => Promise<void>,
    submit: () => Promise<void>,
    user: string,
  ): Promise<void> {
    const { url } = program
    await page.goto(authorizeAddress())
    await look('sign in')
    await page.fill('#username', user)
    await page.fill('#password', password)
    await page.keyboard.press('Enter')
    await page.waitForSelector('ul.choices')
    await look('choice of an organization')
    await page.click(`text=${longName}`)
    await page.waitForSelector('button[value=allow]')
    await look('consent for an organization')
    await page.goto(`${url}/device?user_code=${await userCode()}`)
    await look('device')
    await submit()
    await page.waitForSelector('ul.choices')
    await look('choice of an organization for a device')
    await page.click('text=Acme Ltd')
    await page.waitForSelector('button[value=allow]')
    await look('confirmation of a device')
    await page.click('button[value=allow]')
    await look('connected device')
    await page.goto(await invite(`${user}@example.com`))
    await look('invitation')
    await submit()
    await look('accepted invitation')
    await page.goto(`${url}/invitation?token=unknown`)
    await look('invalid invitation')
    await page.goto(`${url}/account/organizations`)
    await look('organizations')
  }
})
