import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { type GitHubFake, type OidcFake, startGitHub, startOidc } from '@gatehouse/fakes'
import { findProgram, testWith } from '@gatehouse/testing'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { users } from '../support/journey.ts'
import { type LiveIdentity, startIdentity } from '../support/live.ts'
import { connectionTo, upstreamClient } from '../support/providers.ts'

interface BrowserTest {
  readonly server: LiveIdentity
  readonly page: Page
  readonly acme: OidcFake
  readonly apple: OidcFake
  readonly github: GitHubFake
  /** What the browser's console complained about. */
  readonly complaints: string[]
}

const appleKey = { teamId: 'ABCDE12345', keyId: 'KEY1' }

/** Runs `work` in Chromium. The providers are at 127.0.0.1 and identity at localhost: other sites to each other. */
async function withBrowser(options: BrowserContextOptions, work: (at: BrowserTest) => Promise<void>): Promise<void> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = String(publicKey.export({ type: 'spki', format: 'pem' }))
  const redirectUris: string[] = []
  const gitHubOptions = { clientId: 'gh', clientSecret: 'gh-secret', redirectUri: '' }
  const acme = await startOidc({ client: upstreamClient, redirectUris })
  const appleClient = { id: 'com.example.web', method: 'client_secret_post' as const, publicKey: pem, ...appleKey }
  const apple = await startOidc({ client: appleClient, redirectUris, formPost: true })
  const github = await startGitHub(gitHubOptions)
  const connections = [
    connectionTo(acme),
    {
      id: 'apple',
      kind: 'apple' as const,
      issuer: apple.url,
      client_id: appleClient.id,
      team_id: appleKey.teamId,
      key_id: appleKey.keyId,
      private_key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
      create_users: true,
    },
    {
      id: 'github',
      kind: 'github' as const,
      issuer: github.url,
      client_id: 'gh',
      client_secret: 'gh-secret',
      create_users: true,
    },
  ]
  const server = await startIdentity({ users, connections }, { loopbackCalls: true })
  redirectUris.push(...['acme', 'apple'].map((id) => `${server.issuer}/login/providers/${id}/callback`))
  gitHubOptions.redirectUri = `${server.issuer}/login/providers/github/callback`
  const browser = await chromium.launch({ executablePath: findProgram('chromium') ?? '', args: ['--no-sandbox'] })
  try {
    const page = await (await browser.newContext(options)).newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await work({ server, page, acme, apple, github, complaints })
  } finally {
    await browser.close()
    await server.close()
    for (const fake of [acme, apple, github]) await fake.stop()
  }
}

const lead = (page: Page) => page.textContent('.lead')

async function signOut({ page, server }: BrowserTest): Promise<void> {
  await page.goto(`${server.issuer}/end_session`)
  await page.click('button[value=leave]')
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'with' : 'without'
  testWith('chromium', `people sign in with an OpenID provider, Apple and GitHub ${how} scripts`, async () => {
    await withBrowser({ javaScriptEnabled }, async (at) => {
      const { page, server, acme, apple, github, complaints } = at
      acme.user = { sub: 'u-1', email: 'carol@example.com', email_verified: true }
      await page.goto(`${server.issuer}/account`)
      await page.click('button[value=acme]')
      await page.waitForURL(`${server.issuer}/account*`)
      assert.match((await lead(page)) ?? '', /carol@example.com/)
      await signOut(at)

      apple.user = { sub: 'a-1', email: 'ada@example.com', email_verified: 'true' }
      apple.extraFields = { user: JSON.stringify({ name: { firstName: 'Ada', lastName: 'Apple' } }) }
      await page.goto(`${server.issuer}/account`)
      await page.click('button[value=apple]')
      if (!javaScriptEnabled) {
        await page.waitForURL(`${apple.url}/**`)
        await page.click('button')
      }
      await page.waitForURL(`${server.issuer}/account*`)
      assert.match((await lead(page)) ?? '', /ada@example.com/)
      await signOut(at)

      github.user = { ...github.user, emails: [{ email: 'octo@example.com', primary: true, verified: true }] }
      await page.goto(`${server.issuer}/account`)
      await page.click('button[value=github]')
      await page.waitForURL(`${server.issuer}/account*`)
      assert.match((await lead(page)) ?? '', /octo@example.com/)
      assert.deepEqual(complaints, [])
    })
  })
}

testWith('chromium', 'a person connects a provider to the account and disconnects it', async () => {
  await withBrowser({}, async ({ page, server, acme, complaints }) => {
    acme.user = { sub: 'u-2', email: 'alice@elsewhere.example' }
    await page.goto(`${server.issuer}/account`)
    await page.fill('#username', 'alice')
    await page.fill('#password', 'correct horse')
    await page.click('button')
    await page.click('a[href="/account/providers"]')
    await page.click('button[value=acme]')
    await page.waitForSelector('input[name=link_id]', { state: 'attached' })
    assert.equal(page.url(), `${server.issuer}/account/providers`)
    await page.click('ul.rows button')
    await page.waitForSelector('ul.rows:not(:has(li))', { state: 'attached' })
    assert.deepEqual(complaints, [])
  })
})
