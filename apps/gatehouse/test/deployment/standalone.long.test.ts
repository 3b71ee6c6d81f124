/** Each service, and each pair of them, started as somebody would who has nothing else. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startPostgres, temporaryFolder, testWith } from '@gatehouse/testing'
import { fileKeyHash, readConfig } from '../../src/config/config.ts'
import { type Program, started } from '../support/program.ts'

/** Pastes the lines that the program printed into a shell, and answers what it said. */
function pasted(program: Program): string {
  const [, after = ''] = program.stdout().split(/^Try it: .*\n/m)
  assert.notEqual(after, '', program.stdout())
  return execFileSync('bash', ['-c', after], {
    encoding: 'utf8',
    timeout: 120_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

const isDelivered = (output: string) => {
  assert.match(output, /"event":"order.shipped"/)
  assert.match(output, /"channel":"email","outcome":"queued"/)
}
const isMailed = (output: string) => assert.match(output, /"messages":\[.*"address":"alice@example.com"/s)
const isLimited = (output: string) => {
  assert.match(output, /(200 )+(429 )+\nHTTP\/1.1 429/)
  assert.match(output, /^retry-after: \d+/im)
}
const isUser = (output: string) => assert.match(output, /\{"id":"alice","plan":"free"\}/)

for (const [services, checks] of [
  ['identity', [isUser]],
  ['notify', [isDelivered, isMailed]],
  ['gateway', [isLimited]],
  ['identity,notify', [isDelivered, isUser]],
  ['identity,gateway', [isUser, isLimited]],
  ['notify,gateway', [isDelivered, isMailed, isLimited]],
  ['identity,notify,gateway', [isDelivered, isUser]],
] as const)
  test(`the lines that SERVICES=${services} prints work when they are pasted`, async () => {
    const program = await started({ env: { SERVICES: services } })
    const output = pasted(program)
    for (const check of checks) check(output)
    assert.equal((await fetch(`${program.url}/readyz`)).status, 200)
    assert.equal((await program.stop()).code, 0)
  })

const printedKey = (program: Program) => /^KEY=(\S+)$/m.exec(program.stdout())?.[1]

test('the key of a development start is another at each start, and opens nothing at the next', async () => {
  const first = await started({ env: { SERVICES: 'notify' } })
  const key = printedKey(first) ?? assert.fail(first.stdout())
  await first.stop()
  const second = await started({ env: { SERVICES: 'notify' }, dataDir: first.dataDir })
  assert.notEqual(printedKey(second), key)
  const answer = await fetch(`${second.url}/v1/event-types`, { headers: { 'x-api-key': key } })
  assert.equal(answer.status, 401)
  await second.stop()
})

for (const [what, env] of [
  ['that others can reach', { BASE_URL: 'http://gatehouse.example' }],
  ['that listens to others', { HOST: '0.0.0.0' }],
  ['without development pages', { DEV_PAGES: 'never' }],
  ['with IDENTITY_URL', { IDENTITY_URL: 'http://localhost:1' }],
  ['with ISSUER', { ISSUER: 'http://localhost:1' }],
] as const)
  test(`a start ${what} makes no key`, async () => {
    const program = await started({ env: { SERVICES: 'notify', SMTP_URL: 'smtp://localhost:1', ...env } })
    assert.equal(printedKey(program), undefined)
    assert.doesNotMatch(program.stdout(), /dev_/)
    await program.stop()
  })

testWith('postgresql', 'a start with DATABASE_URL makes no key', async () => {
  const postgres = await startPostgres()
  const env = { SERVICES: 'notify', DATABASE_URL: postgres.url, SMTP_URL: 'smtp://localhost:1' }
  const program = await started({ env })
  assert.equal(printedKey(program), undefined)
  assert.equal((await fetch(`${program.url}/v1/event-types`, { headers: { 'x-api-key': 'dev_x' } })).status, 401)
  await program.stop()
  await postgres.stop()
})

const shopKey = 'f3b1c7a09d5e4f2b8a6c1d0e9f8b7a6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f00'
const readerKey = `${shopKey}-of-the-reader`

function fileOf(content: object): string {
  const file = join(temporaryFolder('standalone'), 'gatehouse.yaml')
  writeFileSync(file, JSON.stringify(content))
  return file
}

const product = {
  event_types: [
    { event: 'greeting', channels: ['email'] },
    { event: 'reset_password', channels: ['email'] },
  ],
  recipients: [{ user_id: 'alice', email: 'alice@example.com' }],
}
const greeting = { event: 'greeting', user_id: 'alice', data: {} }

async function send(url: string, headers: Record<string, string>, body: object = greeting): Promise<number> {
  const answer = await fetch(`${url}/v1/notify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  await answer.body?.cancel()
  return answer.status
}

for (const services of ['notify', 'notify,gateway'])
  test(`keys of the file open ${services} as far as their scopes go, and stand in no log`, async () => {
    const file = fileOf({
      ...product,
      api_keys: [
        { id: 'shop', key_hash: fileKeyHash(shopKey), scopes: ['write:notifications'], plan: 'unlimited' },
        { id: 'reader', key_hash: fileKeyHash(readerKey), scopes: ['read:settings'] },
      ],
    })
    const program = await started({ env: { SERVICES: services, GATEHOUSE_CONFIG: file, LOG_LEVEL: 'trace' } })
    assert.equal(printedKey(program), undefined, 'with keys of the file none is made')
    assert.equal((await fetch(`${program.url}/readyz`)).status, 200)
    assert.equal(await send(program.url, { 'x-api-key': shopKey }), 202)
    assert.equal(await send(program.url, { 'x-api-key': readerKey }), 403)
    for (const headers of [
      {},
      { 'x-api-key': 'unknown' },
      { 'x-api-key': fileKeyHash(shopKey) },
      { 'x-api-key': shopKey.slice(1) },
      { authorization: `Bearer ${shopKey}` },
      { authorization: `Bearer ${readerKey}`, 'x-api-key': shopKey },
    ])
      assert.equal(await send(program.url, headers as Record<string, string>), 401, JSON.stringify(headers))
    const types = await fetch(`${program.url}/v1/event-types`, { headers: { 'x-api-key': readerKey } })
    assert.equal(types.status, 200)
    const { stdout, stderr } = await program.stop()
    assert.ok(!stdout.includes(shopKey) && !stderr.includes(shopKey))
    assert.ok(!stdout.includes(fileKeyHash(shopKey)))
  })

describe('with an issuer that is not ours', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }
  const issuer = createServer((request, response) => {
    const { port } = issuer.address() as AddressInfo
    const url = `http://localhost:${port}/realm/`
    const documents: Record<string, object> = {
      '/realm/.well-known/openid-configuration': { issuer: url, jwks_uri: `${url}keys` },
      '/realm/keys': { keys: [jwk] },
    }
    const document = documents[request.url ?? '']
    response.writeHead(document ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(document ?? {}))
  })
  let url: string
  before(async () => {
    await new Promise<void>((resolve) => issuer.listen(0, () => resolve()))
    url = `http://localhost:${(issuer.address() as AddressInfo).port}/realm/`
  })
  after(() => issuer.close())

  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const token = (aud: string, typ: string, claims: object = {}): string => {
    const now = Math.floor(Date.now() / 1000)
    const standing = { iss: url, sub: 'shop', client_id: 'shop', aud, iat: now, exp: now + 300 }
    const payload = { ...standing, scope: 'write:notifications', ...claims }
    const signed = `${encoded({ alg: 'RS256', kid: 'k1', typ })}.${encoded(payload)}`
    return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`
  }
  const status = async (program: Program, ...claims: Parameters<typeof token>) =>
    send(program.url, { authorization: `Bearer ${token(...claims)}` })

  for (const services of ['notify', 'notify,gateway'])
    test(`${services} takes its access tokens for the address of the API, found by its metadata`, async () => {
      const program = await started({ env: { SERVICES: services, ISSUER: url, GATEHOUSE_CONFIG: fileOf(product) } })
      assert.equal((await fetch(`${program.url}/readyz`)).status, 200)
      assert.equal(await status(program, program.url, 'at+jwt'), 202)
      assert.equal(await status(program, program.url, 'JWT'), 401, 'an ID token would be one of these')
      assert.equal(await status(program, 'https://other.example', 'at+jwt'), 401)
      assert.equal(await status(program, program.url, 'at+jwt', { scope: 'openid' }), 403)
      assert.equal(await status(program, program.url, 'at+jwt', { iss: url.slice(0, -1) }), 401, 'to the letter')
      const document = (await (await fetch(`${program.url}/openapi.json`)).json()) as {
        components: { securitySchemes: { bearer: object } }
      }
      assert.deepEqual((document.components.securitySchemes.bearer as { type: string }).type, 'openIdConnect')
      await program.stop()
    })

  test('its audience and its type of token can be named', async () => {
    const types = { ISSUER_AUDIENCE: 'api://one, api://two', ISSUER_TOKEN_TYPES: 'JWT' }
    const env = { SERVICES: 'notify', ISSUER: url, GATEHOUSE_CONFIG: fileOf(product), ...types }
    const program = await started({ env })
    assert.equal(await status(program, 'api://one', 'JWT'), 202)
    assert.equal(await status(program, 'api://two', 'JWT'), 202)
    assert.equal(await status(program, 'api://one', 'at+jwt'), 401)
    assert.equal(await status(program, program.url, 'JWT'), 401)
    await program.stop()
  })

  for (const services of ['notify', 'notify,gateway'])
    test(`${services} lets its clients manage, and its users as far as ISSUER_ADMIN_SCOPES says`, async () => {
      const file = fileOf(product)
      const requested = { scope: 'read:notifications admin:notifications admin:privacy read:personal-data' }
      const user = { ...requested, sub: 'mallory', client_id: 'app' }
      const read = async ({ url }: Program, path: string, claims: object) => {
        const authorization = `Bearer ${token(url, 'at+jwt', claims)}`
        return (await fetch(`${url}${path}`, { headers: { authorization } })).status
      }
      const env = { SERVICES: services, ISSUER: url, GATEHOUSE_CONFIG: file }
      const bounded = await started({ env })
      assert.equal(await read(bounded, '/v1/dead-letters', requested), 200)
      assert.equal(await read(bounded, '/v1/dead-letters', user), 403)
      assert.equal(await read(bounded, '/v1/users/alice/data', user), 403)
      assert.equal(await read(bounded, '/v1/users/mallory/inbox', user), 200, 'what is their own stays theirs')
      await bounded.stop()
      const opened = await started({ env: { ...env, ISSUER_ADMIN_SCOPES: 'admin:notifications' } })
      assert.equal(await read(opened, '/v1/dead-letters', user), 200)
      assert.equal(await read(opened, '/v1/users/alice/data', user), 403)
      await opened.stop()
    })

  test('no event type is reserved for an identity that is not there', async () => {
    const env = { SERVICES: 'notify', ISSUER: url, GATEHOUSE_CONFIG: fileOf(product) }
    const program = await started({ env })
    const authorization = `Bearer ${token(program.url, 'at+jwt')}`
    assert.equal(await send(program.url, { authorization }, { ...greeting, event: 'reset_password' }), 202)
    await program.stop()
  })
})

test('keys of the file are refused where identity runs, and where they are no hashes', async () => {
  const key = { id: 'shop', key_hash: fileKeyHash(shopKey), scopes: [] }
  for (const [content, expected] of [
    [{ api_keys: [key] }, /api_keys is for processes without identity/],
    [{ api_keys: [{ ...key, key_hash: shopKey }] }, /api_keys\.0\.key_hash/],
    [{ api_keys: [key, { ...key, id: 'other' }] }, /api_keys\.1\.key_hash is declared twice/],
  ] as const)
    await assert.rejects(readConfig({ GATEHOUSE_CONFIG: fileOf(content) }), expected)
})
