import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { type DnsServer, startDns } from '../support/dns.ts'
import { memberToken, type Organizations, send, setupOrganizations } from '../support/management/organizations.ts'

let dns: DnsServer
let running: Organizations
const tokens = new Map<string, string>()
before(async () => {
  dns = await startDns()
  running = await setupOrganizations({ dns: { servers: [dns.address], timeoutMs: 300 } })
  for (const [user, organization] of [
    ['olga', 'acme'],
    ['bob', 'beta'],
    ['adam', 'acme'],
  ] as const)
    tokens.set(user, await memberToken(running, user, organization))
})
after(async () => {
  await running?.close()
  await dns.close()
})

const as = (user: string, method: string, path: string) =>
  send(running, tokens.get(user) ?? assert.fail(user), method, `/organizations/${path}`)

interface DnsRecord {
  readonly name: string
  readonly value: string
}

/** Adds a domain and publishes its record. */
async function publish(user: string, path: string): Promise<void> {
  const { body } = await as(user, 'PUT', path)
  const { name, value } = body.record as DnsRecord
  dns.records.set(name, ['v=spf1 -all', value])
}

test('a domain is verified by its TXT record, and then only once', async () => {
  const added = await as('olga', 'PUT', 'acme/domains/Acme.Example')
  const { name, value } = added.body.record as DnsRecord
  assert.deepEqual([added.status, added.body.domain, name], [200, 'acme.example', '_gatehouse.acme.example'])
  assert.equal((await as('olga', 'POST', 'acme/domains/acme.example/verify')).status, 422, 'no such name')
  dns.records.set(name, ['gatehouse-domain-verification=another'])
  assert.equal((await as('olga', 'POST', 'acme/domains/acme.example/verify')).status, 422, 'another value')
  dns.records.set(name, ['v=spf1 -all', value])
  const verified = await as('olga', 'POST', 'acme/domains/acme.example/verify')
  assert.equal(verified.status, 200, verified.text)
  assert.ok(verified.body.verified_at)
  const again = await as('olga', 'PUT', 'acme/domains/acme.example')
  assert.deepEqual([again.body.verified_at, (again.body.record as DnsRecord).value], [verified.body.verified_at, value])
})

test('a domain that another organization verified cannot be verified', async () => {
  await publish('olga', 'acme/domains/shared.example')
  assert.equal((await as('olga', 'POST', 'acme/domains/shared.example/verify')).status, 200)
  await publish('bob', 'beta/domains/shared.example')
  const refused = await as('bob', 'POST', 'beta/domains/shared.example/verify')
  assert.equal(refused.status, 409, refused.text)
  const store = postgresIdentityStore(running.database).organizationDomains
  assert.equal(await store.findOrganization('shared.example'), 'acme')
  assert.equal((await as('olga', 'DELETE', 'acme/domains/shared.example')).status, 204)
  assert.equal((await as('bob', 'POST', 'beta/domains/shared.example/verify')).status, 200)
  assert.equal(await store.findOrganization('shared.example'), 'beta')
})

test('a DNS server that does not answer is reported within the timeout', async () => {
  await publish('olga', 'acme/domains/slow.example')
  dns.silent = true
  const since = performance.now()
  const response = await as('olga', 'POST', 'acme/domains/slow.example/verify')
  dns.silent = false
  assert.equal(response.status, 503, response.text)
  assert.ok(performance.now() - since < 10_000)
})

test('an unverified domain belongs to nobody', async () => {
  await as('bob', 'PUT', 'beta/domains/free.example')
  const store = postgresIdentityStore(running.database).organizationDomains
  assert.equal(await store.findOrganization('free.example'), undefined)
})

test('what is no domain name is rejected, and internationalized names are ASCII', async () => {
  for (const name of ['localhost', '127.0.0.1', 'a..example', '-a.example', 'a_b.example', '*.example'])
    assert.equal((await as('olga', 'PUT', `acme/domains/${encodeURIComponent(name)}`)).status, 422, name)
  const { body } = await as('olga', 'PUT', `acme/domains/${encodeURIComponent('bücher.example')}`)
  assert.equal(body.domain, 'xn--bcher-kva.example')
})

test('domains need the permission to change the organization', async () => {
  assert.equal((await as('adam', 'GET', 'acme/domains')).status, 200)
  for (const [method, path] of [
    ['PUT', 'acme/domains/adam.example'],
    ['POST', 'acme/domains/acme.example/verify'],
    ['DELETE', 'acme/domains/acme.example'],
  ] as const)
    assert.equal((await as('adam', method, path)).status, 403)
})
