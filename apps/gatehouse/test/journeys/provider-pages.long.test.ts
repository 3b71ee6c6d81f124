import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import { findProgram, freePort, temporaryFolder, testWith } from '@gatehouse/testing'
import { type Browser, chromium, type Page } from 'playwright-core'
import { everyLook, faultless } from '../support/accessibility.ts'
import { started } from '../support/program.ts'

const client = { id: 'gatehouse', method: 'client_secret_basic', secret: 'secret-at-the-provider' } as const
const password = 'correct horse battery staple'

function configuration(provider: string): string {
  const common = { kind: 'oidc', issuer: provider, client_id: client.id, client_secret: client.secret }
  return JSON.stringify({
    users: [
      { id: 'alice', password, email: 'alice@example.com', email_verified: true },
      { id: 'bob', password, email: 'bob@named.example', email_verified: true },
    ],
    connections: [
      { ...common, id: 'acme', name: 'Acme', create_users: true, logout: 'upstream' },
      { ...common, id: 'closed', name: 'A provider with a rather long name of its own', create_users: false },
      {
        ...common,
        id: 'named',
        name: 'Named',
        hidden: true,
        domains: ['named.example'],
        required: true,
        authoritative_domains: ['named.example'],
        create_users: true,
      },
    ],
  })
}

interface Walk {
  readonly tab: Page
  readonly url: string
  readonly provider: OidcFake
  /** Looks at the page as it is now. */
  look(name: string): Promise<void>
}

async function signIn({ tab, url }: Walk, user: string): Promise<void> {
  await tab.goto(`${url}/account`)
  await tab.fill('#username', user)
  await tab.fill('#password', password)
  await tab.click('button[type=submit]')
  await tab.waitForURL(`${url}/account*`)
}

/** Looks at a page that goes on by itself, which it does not here; its link then leads on. */
async function lookOnTheWay({ tab, look }: Walk, name: string, button: string): Promise<void> {
  await tab.route('**/{login/providers,end_session/confirm}', async (route) => {
    const response = await route.fetch({ maxRedirects: 0 })
    const { refresh, ...headers } = response.headers()
    assert.match(refresh ?? '', /^0; url=http/, name)
    await route.fulfill({ response, headers })
  })
  await tab.click(button)
  await tab.waitForSelector('a.button')
  await look(name)
  await tab.unrouteAll()
  await tab.click('a.button')
}

/** Every page that has to do with other identity providers. */
async function walkPages(walk: Walk): Promise<void> {
  const { tab, url, provider, look } = walk
  await tab.goto(`${url}/account`)
  await look('sign-in')
  await tab.fill('#username', 'somebody@nowhere.example')
  await tab.click('button[formaction="/login/organization"]')
  await tab.waitForSelector('.note.wrong')
  await look('no organization')
  provider.user = { sub: 'somebody', email: 'alice@example.com', email_verified: true }
  await tab.click('button[value=acme]')
  await tab.waitForSelector('.note.wrong')
  await look('account exists')
  provider.user = { sub: 'somebody', email: 'nobody@example.com', email_verified: true }
  await tab.click('button[value=closed]')
  await tab.waitForSelector('.note.wrong')
  await look('unknown user')
  provider.misbehaviour = 'denies'
  await tab.click('button[value=acme]')
  await tab.waitForSelector('.note.wrong')
  await look('denied')
  provider.misbehaviour = 'wrong_nonce'
  await tab.click('button[value=acme]')
  await tab.waitForURL('**/callback*')
  await look('failed')
  provider.misbehaviour = undefined

  await signIn(walk, 'alice')
  await tab.goto(`${url}/account/providers`)
  await look('no provider')
  provider.user = { sub: 'alice-there', email: 'a.rather.long.address.of.alice@elsewhere.example' }
  await tab.click('button[value=closed]')
  await tab.waitForSelector('input[name=link_id]', { state: 'attached' })
  await look('a provider')
  await tab.click('ul.rows button')
  await tab.goto(`${url}/end_session`)
  await tab.click('button[value=leave]')

  provider.user = { sub: 'only', email: 'only@example.com', email_verified: true }
  await tab.goto(`${url}/account`)
  await lookOnTheWay(walk, 'on the way', 'button[value=acme]')
  await tab.waitForURL(`${url}/account*`)
  await tab.goto(`${url}/account/providers`)
  await tab.click('ul.rows button')
  await tab.waitForSelector('.note.wrong')
  await look('last way')
  await tab.goto(`${url}/end_session`)
  await lookOnTheWay(walk, 'signing out', 'button[value=leave]')
  await tab.waitForURL(`${url}/end_session/return*`)
  await look('signed out')

  provider.user = { sub: 'bob-there', email: 'bob@named.example', email_verified: true }
  await tab.goto(`${url}/account`)
  await tab.fill('#username', 'bob@named.example')
  await tab.press('#username', 'Enter')
  await tab.waitForURL(`${url}/account*`)
  await tab.goto(`${url}/account/email`)
  await look('managed address')
  await tab.goto(`${url}/end_session`)
  await tab.click('button[value=leave]')
}

testWith('chromium', 'every page about other providers is accessible, in each look and language', async () => {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const redirectUris = ['acme', 'closed', 'named'].map((id) => `${url}/login/providers/${id}/callback`)
  const provider = await startOidc({ client, redirectUris, postLogoutRedirectUris: [`${url}/end_session/return`] })
  const file = join(temporaryFolder('gatehouse-provider-pages'), 'gatehouse.yaml')
  writeFileSync(file, configuration(provider.url))
  const program = await started({ port, env: { GATEHOUSE_CONFIG: file, BASE_URL: url, AUTH_URL: url } })
  const browser: Browser = await chromium.launch({
    executablePath: findProgram('chromium') ?? '',
    args: ['--no-sandbox'],
  })
  try {
    for (const locale of ['en-GB', 'de-DE']) {
      const tab = await (await browser.newContext({ locale })).newPage()
      const look = (name: string) =>
        everyLook(tab, async (how) => {
          const what = `${name}, ${locale}, ${how}`
          await faultless(tab, what)
          const overflow = await tab.evaluate('document.documentElement.scrollWidth > window.innerWidth')
          assert.equal(overflow, false, `${what}: wider than the window`)
        })
      await walkPages({ tab, url, provider, look })
    }
    assert.deepEqual(provider.refusals, [])
  } finally {
    await browser.close()
    await program.stop()
    await provider.stop()
  }
})
