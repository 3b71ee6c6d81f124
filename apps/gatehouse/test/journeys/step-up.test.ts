import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { temporaryFolder } from '@gatehouse/testing'
import * as client from 'openid-client'
import { type Program, started } from '../support/program.ts'
import { type Page, Visitor } from '../support/visitor.ts'

const secret = 'a-secret-of-the-test-alone-0123456789'
const callback = 'http://localhost:9/callback'
const mfa = 'urn:gatehouse:acr:mfa'
const password = 'four candles please'

const configuration = (upstream: string) => `
channels: { email: off, sms: off, push: off }
mfa: optional
clients:
  - client_id: bank
    client_secret: ${secret}
    skip_consent: true
    redirect_uris: ["${callback}"]
    scopes: [openid, offline_access, read:users]
users:
  - { id: erin, password: ${password} }
  - { id: frank, password: ${password} }
policies: { anonymous: { rpm: 100000 }, identity: { rpm: 100000 } }
upstreams: { bank: { url: "${upstream}" } }
routes:
  - { path: /transfers, upstream: bank, require_acr: "${mfa}", max_age_seconds: 300 }
  - { path: /balance, upstream: bank }
`

const upstream = createServer((request, response) => response.end(`served ${request.url}`))
let program: Program
let config: client.Configuration

before(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const path = join(temporaryFolder('config'), 'gatehouse.yaml')
  writeFileSync(path, configuration(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`))
  program = await started({ env: { GATEHOUSE_CONFIG: path } })
  const insecure = { execute: [client.allowInsecureRequests] }
  config = await client.discovery(new URL(program.url), 'bank', secret, undefined, insecure)
})
after(async () => {
  upstream.close()
  upstream.closeAllConnections()
  await program.stop()
})

/** An authenticator app (RFC 6238), which never shows a code twice. */
class App {
  readonly #key: Buffer
  #step = 0

  constructor({ text }: Page) {
    const secretText = /<code class="secret">([A-Z2-7 ]+)</.exec(text)?.[1] ?? assert.fail(text)
    const digits = [...secretText.replaceAll(' ', '')].map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one))
    const bits = digits.map((digit) => digit.toString(2).padStart(5, '0')).join('')
    this.#key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  }

  /** The code of the step before this one, or the next that was not shown: each is accepted for some time. */
  nextCode(): string {
    this.#step = Math.max(this.#step + 1, Math.floor(Date.now() / 30_000) - 1)
    const counter = Buffer.alloc(8)
    counter.writeBigUInt64BE(BigInt(this.#step))
    const mac = createHmac('sha1', this.#key).update(counter).digest()
    const offset = (mac[19] ?? 0) & 15
    return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
  }
}

/** Begins the code flow with these parameters. Returns the page it shows, and what exchanges the code that follows. */
async function begin(visitor: Visitor, extra: Record<string, string> = {}) {
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const address = client.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'openid offline_access read:users',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...extra,
  })
  const maxAge = extra.max_age === undefined ? {} : { maxAge: Number(extra.max_age) }
  const checks = { pkceCodeVerifier, idTokenExpected: true, ...maxAge }
  const exchange = (end: Page) => client.authorizationCodeGrant(config, end.address, checks)
  return { page: await visitor.get(address), exchange }
}

/** The parameters of the challenge that a request gets; undefined where it is served. */
async function challengeOf(token: string, path = '/transfers') {
  try {
    const response = await client.fetchProtectedResource(config, token, new URL(path, program.url), 'GET')
    assert.equal(await response.text(), `served ${path}`)
    return undefined
  } catch (error) {
    assert.ok(error instanceof client.WWWAuthenticateChallengeError, String(error))
    return error.cause[0]?.parameters
  }
}

test('openid-client steps up with a second factor where the gateway asks for one', async () => {
  const visitor = new Visitor(program.url)
  const credentials = { username: 'erin', password }
  const enrolment = await visitor.submit(await visitor.get('/account/factors/app'), credentials)
  const app = new App(enrolment)
  let enrolled = await visitor.submit(enrolment, { code: app.nextCode() })
  // The step of the first code ended while it was sent.
  if (enrolled.text.includes('name="enrolment"')) enrolled = await visitor.submit(enrolled, { code: app.nextCode() })
  await visitor.submit(await visitor.get('/end_session'), { decision: 'leave' })

  const remembered = await visitor.submit(await visitor.get('/account'), credentials)
  await visitor.submit(remembered, { code: app.nextCode(), remember: 'yes' })
  await visitor.submit(await visitor.get('/end_session'), { decision: 'leave' })
  const first = await begin(visitor)
  const tokens = await first.exchange(await visitor.submit(first.page, credentials))
  assert.notEqual(tokens.claims()?.acr, mfa, 'a remembered device is no second factor')
  assert.equal(await challengeOf(tokens.access_token, '/balance'), undefined)
  const challenge = (await challengeOf(tokens.access_token)) ?? assert.fail('it was served')
  assert.deepEqual(
    [challenge.error, challenge.acr_values, challenge.max_age],
    ['insufficient_user_authentication', mfa, '300'],
  )
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
  assert.equal((await challengeOf(refreshed.access_token))?.acr_values, mfa, 'a refresh raises nothing')

  const required = { acr_values: String(challenge.acr_values), max_age: String(challenge.max_age) }
  const again = await begin(visitor, required)
  assert.match(again.page.text, /action="\/login\/factor"/, 'the factor alone is asked for')
  const raised = await again.exchange(await visitor.submit(again.page, { code: app.nextCode() }))
  const [before, now] = [tokens.claims(), raised.claims()]
  assert.deepEqual([now?.acr, now?.amr, now?.sid], [mfa, ['pwd', 'otp', 'mfa'], before?.sid])
  assert.equal(now?.auth_time, before?.auth_time)
  assert.equal(await challengeOf(raised.access_token), undefined)
  assert.equal((await challengeOf(tokens.access_token))?.acr_values, mfa, 'the token from before stays as it was')
})

test('who has no second factor sets one up where the application insists, and only there', async () => {
  const visitor = new Visitor(program.url)
  const first = await begin(visitor)
  const tokens = await first.exchange(await visitor.submit(first.page, { username: 'frank', password }))
  const { acr_values = '' } = (await challengeOf(tokens.access_token)) ?? assert.fail('it was served')
  const voluntary = await begin(visitor, { acr_values })
  const same = await voluntary.exchange(voluntary.page)
  assert.equal((await challengeOf(same.access_token))?.acr_values, mfa)
  const claims = JSON.stringify({ id_token: { acr: { essential: true, values: [acr_values] } } })
  const essential = await begin(visitor, { claims })
  assert.match(essential.page.text, /action="\/login\/enrol"/)
  const app = new App(essential.page)
  let codes = await visitor.submit(essential.page, { code: app.nextCode() })
  if (codes.text.includes('name="enrolment"')) codes = await visitor.submit(codes, { code: app.nextCode() })
  const raised = await essential.exchange(await visitor.submit(codes))
  assert.equal(raised.claims()?.acr, mfa)
  assert.equal(await challengeOf(raised.access_token), undefined)
})
