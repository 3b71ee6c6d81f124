import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@gatehouse/kit'
import type { AttemptLimitName } from '../../src/index.ts'
import { attemptLimits } from '../support/attempt-limits.ts'
import { clients } from '../support/journey.ts'
import { responseOf, service, setup } from '../support/setup.ts'

const other = { client_id: 'other', client_secret: 'other-secret-0123456789abc', scopes: ['read:users'] }
const hubClient = {
  client_id: 'hub',
  client_secret: 'hub-secret-0123456789abcdef',
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code' as const],
  scopes: ['read:users'],
}
const grant = { grant_type: 'client_credentials' }
const [here, there] = ['192.0.2.1', '192.0.2.2']

async function setupLimits(smaller: Partial<Record<AttemptLimitName, number>>) {
  const clock = manualClock()
  const running = await setup({
    declared: { clients: [...clients, service, other, hubClient] },
    clock,
    ...attemptLimits(smaller, clock),
  })
  return {
    clock,
    async post(path: string, form: Record<string, string>, remoteAddress: string) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const payload = new URLSearchParams(form).toString()
      return responseOf(await running.http.inject({ method: 'POST', url: path, payload, headers, remoteAddress }))
    },
    [Symbol.asyncDispose]: () => running.close(),
  }
}

const right = ({ client_id, client_secret }: Pick<typeof other, 'client_id' | 'client_secret'>) => ({
  client_id,
  client_secret,
})
const wrong = { client_id: 'service', client_secret: 'a guess' }

for (const path of ['/token', '/par', '/introspect', '/revoke', '/device_authorization'])
  test(`wrong secrets at ${path} are limited per client and address, and do not block others`, async () => {
    await using it = await setupLimits({ 'client-authentication': 3 })
    const guess = async (secret: string) => {
      const form = { ...grant, token: 't', client_id: 'service', client_secret: secret }
      return it.post(path, form, here)
    }
    for (const status of [401, 401, 401, 429, 429]) assert.equal((await guess('a guess')).status, status)
    const found = await guess(service.client_secret)
    assert.deepEqual(
      [found.status, found.body.error],
      [429, 'temporarily_unavailable'],
      'the correct secret is rejected too',
    )
    assert.ok(Number(found.headers['retry-after']) > 0)
    assert.equal((await it.post('/token', { ...grant, ...right(service) }, there)).status, 200)
    it.clock.advance(600_000)
    assert.equal((await it.post('/token', { ...grant, ...right(service) }, here)).status, 200)
  })

test('guesses at many clients from one address are limited, except for clients known there', async () => {
  await using it = await setupLimits({ 'client-authentication-address': 4 })
  const token = (client: typeof other, address: string) => it.post('/token', { ...grant, ...right(client) }, address)
  assert.equal((await token(service, here)).status, 200)
  const statuses = []
  for (let i = 0; i < 6; i++)
    statuses.push((await it.post('/token', { ...grant, client_id: `made-up-${i}`, client_secret: 'x' }, here)).status)
  assert.deepEqual(statuses, [401, 401, 401, 401, 429, 429])
  assert.equal((await token(other, here)).status, 429)
  assert.equal((await token(service, here)).status, 200, 'it has authenticated from here before')
  assert.equal((await token(other, there)).status, 200)
})

test('successful client authentications are not counted', async () => {
  await using it = await setupLimits({ 'client-authentication': 1, 'client-authentication-address': 1 })
  for (let i = 0; i < 5; i++) assert.equal((await it.post('/token', { ...grant, ...right(service) }, here)).status, 200)
  assert.equal((await it.post('/token', { ...grant, ...wrong }, here)).status, 401)
})

test('introspection and revocation are limited per client, from any address', async () => {
  await using it = await setupLimits({ 'introspect-client': 2, 'revoke-client': 2 })
  for (const path of ['/introspect', '/revoke']) {
    const ask = async (client: typeof other, address: string) =>
      (await it.post(path, { token: 'unknown', ...right(client) }, address)).status
    assert.deepEqual([await ask(service, here), await ask(service, there), await ask(service, here)], [200, 200, 429])
    assert.equal(await ask(other, here), 200, 'another client at the same address is not limited')
  }
})

test('pushed requests are limited per address for public clients, per client for others', async () => {
  await using it = await setupLimits({ 'par-address': 2, 'par-client': 3 })
  const push = async (credentials: Record<string, string>, redirect: string, address: string) => {
    const form = { response_type: 'code', redirect_uri: redirect, scope: 'openid', code_challenge: 'A'.repeat(43) }
    return (await it.post('/par', { ...form, ...credentials }, address)).status
  }
  const spa = (address: string) => push({ client_id: 'spa' }, 'https://spa.example/callback', address)
  assert.deepEqual([await spa(here), await spa(here), await spa(here), await spa(there)], [201, 201, 429, 201])
  const { client_id = '', client_secret = '' } = clients[0] ?? {}
  const web = () => push({ client_id, client_secret }, 'https://app.example/callback', here)
  assert.deepEqual([await web(), await web(), await web(), await web()], [201, 201, 201, 429])
})

test('device requests are limited per address for public clients, per client for others', async () => {
  await using it = await setupLimits({ 'device-address': 2, 'device-client': 3 })
  const begin = async (credentials: Record<string, string>, address: string) => {
    const { status, headers } = await it.post('/device_authorization', credentials, address)
    assert.equal(Number(headers['retry-after']) > 0, status === 429)
    return status
  }
  const tv = (address: string) => begin({ client_id: 'tv' }, address)
  assert.deepEqual([await tv(here), await tv(here), await tv(here), await tv(there)], [200, 200, 429, 200])
  const hub = (address: string) => begin(right(hubClient), address)
  assert.deepEqual([await hub(here), await hub(there), await hub(here), await hub(there)], [200, 200, 200, 429])
  it.clock.advance(120_000)
  assert.deepEqual([await tv(here), await hub(here)], [200, 200])
})
