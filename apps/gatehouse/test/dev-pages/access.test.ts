import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createHttp, silentLog } from '@gatehouse/kit'
import { temporaryFolder } from '@gatehouse/testing'
import { hasDevPages, readConfig } from '../../src/config/config.ts'
import { restrictDevPages } from '../../src/dev-pages/access.ts'

/** The configuration of a file and an environment, or its faults. */
async function config(text: string, env: Record<string, string> = {}) {
  const path = join(temporaryFolder('config'), 'gatehouse.yaml')
  writeFileSync(path, text)
  return readConfig({ GATEHOUSE_CONFIG: path, ...env })
}

const mail = { SMTP_URL: 'smtp://127.0.0.1:9' }
const image = { HOST: '0.0.0.0', DEV_PAGES: 'never' }

for (const [what, text, env, expected] of [
  ['nothing is configured', '', {}, true],
  ['HOST is the other loopback address', '', { HOST: '::1' }, true],
  ['HOST is every address', '', { HOST: '0.0.0.0', ...mail }, false],
  ['AUTH_URL is another machine', '', { AUTH_URL: 'http://id.example.com', ...mail }, false],
  ['BASE_URL is another machine', '', { BASE_URL: 'http://api.example.com', ...mail }, false],
  ['BASE_URL only looks like this machine', '', { BASE_URL: 'http://localhost.example.com', ...mail }, false],
  ['the file says so', 'dev_pages: true', { HOST: '0.0.0.0' }, true],
  ['the file says no', 'dev_pages: false', mail, false],
  ['the image runs', '', { ...image, ...mail }, false],
] as const)
  test(`the pages under /dev/ are ${expected ? 'there' : 'not there'} when ${what}`, async () => {
    const { settings, file } = await config(text, env)
    assert.equal(hasDevPages(settings, file), expected)
  })

test('dev pages are rejected in the image and with a database of its own', async () => {
  await assert.rejects(config('dev_pages: true', image), /dev_pages: must not be true where DEV_PAGES is never/)
  const database = { DATABASE_URL: 'postgres://x/y', ENCRYPTION_KEY: 'zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G', ...mail }
  await assert.rejects(config('dev_pages: true', database), /dev_pages: must not be true with DATABASE_URL/)
})

test('mail that nobody carries and no mailbox shows is refused, and the line says what to set', async () => {
  await assert.rejects(config('', image), /SMTP_URL: is required where \/dev\/mailbox is not served/)
  await config('channels: { email: off }', image)
})

function restrictedServer(urls: readonly string[] = []) {
  const http = createHttp({ log: silentLog })
  restrictDevPages(http, urls)
  for (const method of ['GET', 'POST'] as const)
    http.route({ method, url: '/dev/mailbox', handler: async () => ({ mail: 'secret' }) })
  http.get('/open', async () => ({}))
  return async (headers: Record<string, string>, method: 'GET' | 'POST' = 'GET', url = '/dev/mailbox') =>
    (await http.inject({ method, url, headers })).statusCode
}

test('a name that is made to lead to this machine reads nothing under /dev/', async () => {
  const ask = restrictedServer()
  for (const host of ['localhost', 'localhost:8080', '127.0.0.1:8080', '[::1]:8080', 'LOCALHOST:1'])
    assert.equal(await ask({ host }), 200, host)
  for (const host of [
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    'evil.example@x',
    '127.0.0.1.nip.example',
    '192.0.2.1:8080',
    '0.0.0.0:8080',
  ])
    assert.equal(await ask({ host }), 403, host)
  assert.equal(await ask({ host: 'evil.example' }, 'GET', '/dev/%6dailbox'), 403)
  assert.equal(await ask({ host: 'evil.example' }, 'GET', '/open'), 200)
})

test('through a proxy or a tunnel nobody reads what is under /dev/, unless it is open', async () => {
  const proxied = [
    { forwarded: 'for=192.0.2.7' },
    { 'x-forwarded-for': '192.0.2.7' },
    { 'x-forwarded-host': 'public.example' },
    { via: '1.1 tunnel' },
  ]
  const [ask, openOnPurpose] = [restrictedServer(), restrictedServer(['http://dev.example.com'])]
  for (const headers of proxied) {
    const sent = { host: 'localhost:8080', ...headers }
    assert.equal(await ask(sent), 403, JSON.stringify(headers))
    assert.equal(await ask(sent, 'GET', '/open'), 200)
    assert.equal(await openOnPurpose(sent), 200)
  }
})

test('a page of another site changes nothing under /dev/', async () => {
  const ask = restrictedServer()
  const post = (headers: Record<string, string>) => ask({ host: 'localhost:8080', ...headers }, 'POST')
  assert.equal(await post({}), 200, 'no browser')
  assert.equal(await post({ origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' }), 200)
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' },
    { origin: 'http://localhost:3000' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'http://localhost:8080', 'sec-fetch-site': 'cross-site' },
  ])
    assert.equal(await post(headers), 403, JSON.stringify(headers))
})

test('pages that are open on purpose are reached by their own address, not by any name', async () => {
  const ask = restrictedServer(['http://dev.example.com:8080'])
  for (const host of ['dev.example.com:8080', '192.0.2.1:8080', '[2001:db8::1]', 'localhost'])
    assert.equal(await ask({ host }), 200, host)
  assert.equal(await ask({ host: 'evil.example' }), 403)
})

test('https without a declared proxy is rejected with a line that says what to set', async () => {
  for (const name of ['BASE_URL', 'AUTH_URL'] as const) {
    const https = { [name]: 'https://gate.example.com', ...mail }
    await assert.rejects(
      config('', https),
      new RegExp(`TRUSTED_PROXIES: \\(or trusted_proxies in the file\\) is required where ${name} is https`),
    )
    await config('trusted_proxies: [10.0.0.0/8]', https)
    await config('trusted_proxies: []', https)
    const { file } = await config('trusted_proxies: [10.0.0.0/8]', { ...https, TRUSTED_PROXIES: '192.0.2.1, ::1/128' })
    assert.deepEqual(file.trusted_proxies, ['192.0.2.1', '::1/128'], 'the environment goes before the file')
    assert.deepEqual((await config('', { ...https, TRUSTED_PROXIES: 'none' })).file.trusted_proxies, [])
    await assert.rejects(
      config('', { ...https, TRUSTED_PROXIES: 'all' }),
      /TRUSTED_PROXIES: must be none, or addresses/,
    )
  }
  await config('', { BASE_URL: 'http://gate.example.com', ...mail })
})
