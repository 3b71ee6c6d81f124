import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { KeyRing, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { ConnectionList } from '../../src/connections/list.ts'
import { ProviderClients, ProviderUnavailable } from '../../src/connections/provider-clients.ts'
import type { Connection } from '../../src/model/connection.ts'
import { attemptLimits } from '../support/attempt-limits.ts'
import { hiddenFields, TestBrowser } from '../support/journey.ts'
import { choose, comeBack, connectionTo, setupWith, signInAt, withProvider } from '../support/providers.ts'

test('ten declared providers cost the sign-in page no call to any of them, and no query', async () => {
  let connections = 0
  const silent = createServer(() => {
    connections += 1
  })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const ten = Array.from({ length: 10 }, (_, at) => connectionTo({ url }, { id: `p${at}`, name: `Provider ${at}` }))
  const running = await setupWith(ten)
  try {
    const page = await new TestBrowser(running).get('/account')
    assert.equal(page.text.match(/Continue with Provider \d/g)?.length, 10)
    assert.equal(connections, 0)
  } finally {
    await running.close()
    silent.close()
  }
  let reads = 0
  const list = async () => {
    reads += 1
    return []
  }
  const clock = { now: () => 0 }
  const listed = new ConnectionList({ list }, clock, silentLog)
  await listed.refresh()
  for (let count = 0; count < 100; count++) listed.listForSignIn()
  assert.equal(reads, 1)
})

test('a provider that hangs ends in the sign-in page within the bound', async () => {
  await withProvider(async ({ provider, running }) => {
    provider.user = { sub: 'u-1', email: 'carol@example.com', email_verified: true }
    provider.misbehaviour = 'hang_metadata'
    const browser = new TestBrowser(running)
    const page = await browser.get('/account')
    const started = performance.now()
    const begun = await browser.post('/login/providers', { ...hiddenFields(page), connection: 'acme' })
    assert.equal(begun.status, 503)
    assert.match(begun.text, /Acme cannot be reached right now[\s\S]*action="\/login"/)
    provider.misbehaviour = 'hang_token'
    const path = await comeBack(browser)
    const returned = await browser.get(path)
    const elapsed = performance.now() - started
    assert.ok(returned.status === 400 || returned.status === 503, `${returned.status}`)
    assert.ok(elapsed < 30_000, `${elapsed} ms`)
    provider.misbehaviour = undefined
    assert.match((await signInAt(running)).text, /carol@example.com/)
  })
})

test('at most a hundred requests wait for one provider, and other providers are not affected', async () => {
  const encryptionKey = KeyRing.of(new Secret('0123456789abcdef0123456789abcdef'))
  const clients = new ProviderClients({ clock: systemClock, encryptionKey, loopback: true })
  const connection = (id: string): Connection => ({
    id,
    settings: { kind: 'oidc', client_id: 'c' },
    secretSealed: undefined,
    createdAt: 0,
    updatedAt: 0,
  })
  const { promise, resolve } = Promise.withResolvers<string>()
  const waiting = Array.from({ length: 100 }, () => clients.within(connection('slow'), () => promise))
  await assert.rejects(
    clients.within(connection('slow'), () => promise),
    ProviderUnavailable,
  )
  assert.equal(await clients.within(connection('fast'), async () => 'done'), 'done')
  resolve('late')
  assert.equal((await Promise.all(waiting)).length, 100)
  assert.equal(await clients.within(connection('slow'), async () => 'again'), 'again')
})

test('a provider’s metadata is read once an hour, and when the connection changes', async () => {
  await withProvider(async ({ provider, running }) => {
    const browser = new TestBrowser(running)
    const read = async () => {
      const before = provider.connections()
      await choose(browser, await browser.get('/account'))
      return provider.connections() - before
    }
    assert.deepEqual([await read(), await read()], [1, 0])
    await running.identity.management.updateConnection('acme', { name: 'Acme Inc.' })
    running.clock.advance(1)
    assert.deepEqual([await read(), await read()], [1, 0])
  })
})

test('an address may start and end only so many sign-ins with providers', async () => {
  const clock = { now: () => Date.now() }
  await withProvider(
    async ({ running }) => {
      const browser = new TestBrowser(running)
      await comeBack(browser)
      await comeBack(browser)
      const form = hiddenFields(await browser.get('/account'))
      const limited = await browser.post('/login/providers', { ...form, connection: 'acme' })
      assert.equal(limited.status, 429)
      assert.equal((await browser.get('/login/providers/acme/callback?state=x')).status, 429)
    },
    {},
    { identity: attemptLimits({ 'provider-address': 2 }, clock) },
  )
})
