import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '@gatehouse/testing'
import { readConfig } from '../../src/config/config.ts'
import { warningsOf } from '../../src/config/warnings.ts'

async function warnings(environment: Record<string, string>, file: object = {}): Promise<string> {
  const path = join(temporaryFolder('warnings'), 'gatehouse.yaml')
  writeFileSync(path, JSON.stringify(file))
  return warningsOf(await readConfig({ GATEHOUSE_CONFIG: path, SMTP_URL: 'smtp://localhost:1', ...environment })).join(
    '\n',
  )
}

const database = {
  DATABASE_URL: 'postgres://localhost/gatehouse',
  ENCRYPTION_KEY: 'Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg',
}
const identity = { AUTH_URL: 'https://login.example.com', IDENTITY_URL: 'http://id:8081', TRUSTED_PROXIES: 'none' }
const serviceClient = { SERVICE_CLIENT_ID: 'services', SERVICE_CLIENT_SECRET: 'a-secret-of-many-characters' }
const key = { id: 'shop', key_hash: `sha256:${'0'.repeat(64)}`, scopes: ['write:notifications'] }

test('a start that admits nobody says what is missing', async () => {
  const expected = /no caller is admitted: set AUTH_URL and IDENTITY_URL .* ISSUER .* `api_keys`/
  for (const SERVICES of ['notify', 'gateway', 'notify,gateway'])
    assert.match(await warnings({ ...database, SERVICES }), expected, SERVICES)
  assert.match(await warnings({ SERVICES: 'notify', HOST: '0.0.0.0' }), expected)
})

test('a start that admits somebody does not say that it admits nobody', async () => {
  for (const [environment, file] of [
    [{ SERVICES: 'notify' }],
    [{ ...database, SERVICES: 'notify' }, { api_keys: [key] }],
    [{ ...database, SERVICES: 'notify', ISSUER: 'https://idp.example.com' }],
    [{ ...database, ...identity, ...serviceClient, SERVICES: 'notify' }],
    [{ ...database, ...identity, ...serviceClient, SERVICES: 'gateway' }],
    [database],
  ] as const)
    assert.equal(await warnings(environment, file), '', JSON.stringify(environment))
})

test('a service without AUTH_URL says whose tokens it expects', async () => {
  const { AUTH_URL: _issuer, ...place } = { ...identity, ...serviceClient, PORT: '8082' }
  const expected = 'AUTH_URL is not set: only tokens of the issuer http://localhost:8082 are accepted'
  assert.ok((await warnings({ ...database, ...place, SERVICES: 'notify' })).startsWith(expected))
  assert.equal(await warnings({ ...database, ...place, SERVICES: 'gateway' }), '', 'identity may be behind it')
})

test('without a service client each start says what it cannot do', async () => {
  for (const SERVICES of ['notify', 'gateway'])
    assert.match(
      await warnings({ ...database, ...identity, SERVICES }),
      /SERVICE_CLIENT_ID is not set: revoked tokens are accepted until they expire, opaque tokens are refused/,
    )
  assert.match(
    await warnings({ ...database, SERVICES: 'identity', NOTIFY_URL: 'http://notify:8082' }),
    /SERVICE_CLIENT_ID is not set: identity cannot use NOTIFY_URL, sends no mail and does not sync its users/,
  )
})

test('a console by itself needs no service client, and asks for none', async () => {
  const console = { SERVICES: 'console', CONSOLE_URL: 'https://console.example.com', CONSOLE_CLIENT_SECRET: 'secret' }
  assert.equal(await warnings({ ...database, ...identity, ...console }), '')
})

test('identity by itself says that it sends no mail, unless mail is switched off', async () => {
  const alone = { ...database, SERVICES: 'identity' }
  assert.match(await warnings(alone), /NOTIFY_URL is not set: identity sends no mail.* SMTP_URL is for notify/)
  assert.match(await warnings({ ...alone, SMTP_URL: '' }), /NOTIFY_URL is not set: identity sends no mail[^;]*$/)
  assert.equal(await warnings(alone, { channels: { email: 'off' } }), '')
  assert.equal(await warnings({ ...alone, ...serviceClient, NOTIFY_URL: 'http://notify:8082' }), '')
})
